"""OpenMM, molecular dynamics, which compiles its kernels with NVRTC: forces and energies against its own reference, and what moving particles keep."""
import numpy
import openmm
import pytest
from openmm import Vec3

SIDE, SPACING = 6, 0.35


def on(name):
    return openmm.Platform.getPlatform(name)


def water(method=openmm.NonbondedForce.NoCutoff):
    """A lattice of water, bonded and charged, in a periodic box."""
    system, places = openmm.System(), []
    forces, bonds, angles = openmm.NonbondedForce(), openmm.HarmonicBondForce(), openmm.HarmonicAngleForce()
    forces.setNonbondedMethod(method)
    forces.setCutoffDistance(0.9)
    for cell in numpy.ndindex(SIDE, SIDE, SIDE):
        first = len(places)
        for mass, charge, sigma, epsilon, offset in [(16, -0.8, 0.316, 0.65, (0, 0, 0)), (1, 0.4, 0.1, 0, (0.1, 0, 0)), (1, 0.4, 0.1, 0, (-0.03, 0.094, 0))]:
            system.addParticle(mass)
            forces.addParticle(charge, sigma, epsilon)
            places.append(Vec3(*cell) * SPACING + Vec3(*offset))
        bonds.addBond(first, first + 1, 0.1, 4e5)
        bonds.addBond(first, first + 2, 0.1, 4e5)
        angles.addAngle(first + 1, first, first + 2, 1.9, 400)
        for one, other in [(0, 1), (0, 2), (1, 2)]:
            forces.addException(first + one, first + other, 0, 0.3, 0)
    box = SIDE * SPACING
    system.setDefaultPeriodicBoxVectors(Vec3(box, 0, 0), Vec3(0, box, 0), Vec3(0, 0, box))
    for force in [forces, bonds, angles]:
        system.addForce(force)
    return system, places


def context(system, places, platform, integrator=None, **properties):
    made = openmm.Context(system, integrator or openmm.VerletIntegrator(0.0005), on(platform), properties)
    made.setPositions(places)
    return made


def state(system, places, platform, **properties):
    """The potential energy, in kJ/mol, and the forces."""
    found = context(system, places, platform, **properties).getState(getEnergy=True, getForces=True)
    return found.getPotentialEnergy()._value, found.getForces(asNumpy=True)._value


def compare(system, places, tolerance=2e-4, **properties):
    energy, forces = state(system, places, "CUDA", **properties)
    expected_energy, expected = state(system, places, "Reference")
    assert abs(energy - expected_energy) < tolerance * max(1, abs(expected_energy))
    assert numpy.abs(forces - expected).max() < tolerance * max(1, numpy.abs(expected).max())


def test_the_device():
    made = context(*water(), "CUDA")
    assert "warploom" in made.getPlatform().getPropertyValue(made, "DeviceName")


METHODS = {
    "all-pairs": openmm.NonbondedForce.NoCutoff,
    "cutoff": openmm.NonbondedForce.CutoffNonPeriodic,
    "periodic": openmm.NonbondedForce.CutoffPeriodic,
    "ewald": openmm.NonbondedForce.Ewald,
}


@pytest.mark.parametrize("precision", ["single", "mixed", "double"])
@pytest.mark.parametrize("method", METHODS)
def test_charges_and_attraction(method, precision):
    compare(*water(METHODS[method]), Precision=precision)


def chain(length=60):
    """A bent chain of particles."""
    system = openmm.System()
    places = [Vec3(0.1 * index, 0.05 * numpy.sin(index), 0.05 * numpy.cos(1.3 * index)) for index in range(length)]
    for _ in places:
        system.addParticle(12)
    return system, places


def torsions():
    force = openmm.PeriodicTorsionForce()
    for index in range(57):
        force.addTorsion(index, index + 1, index + 2, index + 3, 1 + index % 3, 0.3, 5)
    return force


def custom_bonds():
    force = openmm.CustomBondForce("k*(r-r0)^2 + 0.1*exp(-r)")
    force.addPerBondParameter("k")
    force.addPerBondParameter("r0")
    for index in range(59):
        force.addBond(index, index + 1, [1000 + index, 0.11])
    return force


def custom_pairs():
    force = openmm.CustomNonbondedForce("a1*a2*erfc(2*r)/r + step(0.5-r)*(0.5-r)^2")
    force.addPerParticleParameter("a")
    for index in range(60):
        force.addParticle([1 + 0.01 * index])
    return force


def solvent():
    force = openmm.GBSAOBCForce()
    for index in range(60):
        force.addParticle(0.3 * (-1) ** index, 0.15, 0.8)
    return force


def outside():
    force = openmm.CustomExternalForce("10*(x^2 + 2*y^2) + sin(z)")
    for index in range(60):
        force.addParticle(index, [])
    return force


def bundles():
    force = openmm.CustomManyParticleForce(3, "c*(1+3*cos(theta1)*cos(theta2)*cos(theta3))/(r12*r13*r23)^3;theta1=angle(p1,p2,p3);theta2=angle(p2,p3,p1);theta3=angle(p3,p1,p2);r12=distance(p1,p2);r13=distance(p1,p3);r23=distance(p2,p3);c=1e-9")
    for _ in range(60):
        force.addParticle([])
    force.setNonbondedMethod(openmm.CustomManyParticleForce.CutoffNonPeriodic)
    force.setCutoffDistance(0.5)
    return force


@pytest.mark.parametrize("make", [torsions, custom_bonds, custom_pairs, solvent, outside, bundles], ids=lambda make: make.__name__)
def test_forces(make):
    system, places = chain()
    system.addForce(make())
    compare(system, places, 1e-3)


def test_energy_stays():
    made = context(*water(openmm.NonbondedForce.NoCutoff), "CUDA", openmm.VerletIntegrator(0.0002))
    total = []
    for _ in range(6):
        found = made.getState(getEnergy=True)
        total.append((found.getPotentialEnergy() + found.getKineticEnergy())._value)
        made.getIntegrator().step(50)
    assert max(total) - min(total) < 0.005 * abs(total[0])


def test_a_bath_has_its_temperature():
    system, places = water(openmm.NonbondedForce.CutoffPeriodic)
    made = context(system, places, "CUDA", openmm.LangevinMiddleIntegrator(300, 50, 0.0005))
    openmm.LocalEnergyMinimizer.minimize(made, maxIterations=20)
    made.setVelocitiesToTemperature(300, 1)
    made.getIntegrator().step(200)
    kinetic = []
    for _ in range(10):
        made.getIntegrator().step(10)
        kinetic.append(made.getState(getEnergy=True).getKineticEnergy()._value)
    temperature = 2 * numpy.mean(kinetic) / (3 * len(places) * 0.0083144626)
    assert 260 < temperature < 340


def test_rigid_molecules_stay_so():
    system, places = water(openmm.NonbondedForce.CutoffPeriodic)
    for first in range(0, len(places), 3):
        system.addConstraint(first, first + 1, 0.1)
        system.addConstraint(first, first + 2, 0.1)
        system.addConstraint(first + 1, first + 2, 0.16)
    made = context(system, places, "CUDA", openmm.LangevinMiddleIntegrator(300, 1, 0.001))
    made.applyConstraints(1e-5)
    made.getIntegrator().step(50)
    moved = made.getState(getPositions=True).getPositions(asNumpy=True)._value.reshape(-1, 3, 3)
    assert numpy.abs(numpy.linalg.norm(moved[:, 0] - moved[:, 1], axis=1) - 0.1).max() < 1e-4


def test_the_least_energy():
    system, places = chain()
    for force in [custom_bonds(), outside()]:
        system.addForce(force)
    found = []
    for platform in ["CUDA", "Reference"]:
        made = context(system, places, platform)
        openmm.LocalEnergyMinimizer.minimize(made, 0.1, 500)
        found.append(made.getState(getEnergy=True).getPotentialEnergy()._value)
    assert abs(found[0] - found[1]) < 0.01 * max(1, abs(found[1]))


def test_an_integrator_of_the_program():
    system, places = chain()
    system.addForce(custom_bonds())
    moved = []
    for platform in ["CUDA", "Reference"]:
        integrator = openmm.CustomIntegrator(0.001)
        integrator.addGlobalVariable("energy", 0)
        integrator.addComputePerDof("v", "v+0.5*dt*f/m")
        integrator.addComputePerDof("x", "x+dt*v")
        integrator.addComputePerDof("v", "v+0.5*dt*f/m")
        integrator.addComputeSum("energy", "0.5*m*v*v")
        made = context(system, places, platform, integrator)
        integrator.step(20)
        moved.append((made.getState(getPositions=True).getPositions(asNumpy=True)._value, integrator.getGlobalVariableByName("energy")))
    numpy.testing.assert_allclose(moved[0][0], moved[1][0], atol=1e-4)
    assert abs(moved[0][1] - moved[1][1]) < 1e-3 * moved[1][1]
