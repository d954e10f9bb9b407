//! Plans: the nodes of a graph, and of the graphs that belong to its nodes, in an order that keeps all dependencies, dealt out
//! to lanes. Each lane becomes a stream; what crosses lanes becomes a wait.
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use super::ready::Ready;
use super::{Graph, Handle, Work};

/// Independent branches run side by side up to this number.
const MOST_LANES: usize = 16;

/// One node of a plan.
pub(super) struct Step {
    /// The node of the description.
    pub(super) node: Handle,
    pub(super) work: Work,
    /// The work, ready to be put into a stream; None before the first launch, and after a change.
    pub(super) ready: Option<Ready>,
    /// The steps that it comes after.
    pub(super) dependencies: Vec<usize>,
    /// For a node with a graph: the steps of that graph, which come before this one.
    pub(super) inner: Range<usize>,
    /// For a conditional node: the plans of the graphs that it decides on.
    pub(super) bodies: Vec<Plan>,
    pub(super) lane: usize,
    /// The steps of other lanes that it has to wait for.
    pub(super) waits: Vec<usize>,
    /// Whether a step of another lane waits for it, or the end of the launch.
    pub(super) marked: bool,
    pub(super) enabled: bool,
}

/// All nodes, in order.
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    pub(super) lanes: usize,
    /// The last steps of all lanes but the first.
    pub(super) ends: Vec<usize>,
    index: HashMap<Handle, usize>,
}

/// A graph in which nodes come after themselves.
pub(super) struct Cycle {
    /// One of the nodes.
    pub(super) node: Handle,
}

impl Plan {
    /// Plans a graph as it is now.
    pub(super) fn of(graph: &Graph) -> Result<Plan, Cycle> {
        let mut steps = Vec::new();
        append(graph, &[], &mut steps)?;
        let mut plan = Plan { steps, lanes: 1, ends: Vec::new(), index: HashMap::new() };
        plan.index = plan.steps.iter().enumerate().map(|(index, step)| (step.node, index)).collect();
        plan.deal();
        Ok(plan)
    }

    /// The step of a node, in graphs of conditional nodes too.
    pub(super) fn step(&self, node: Handle) -> Option<&Step> {
        match self.index.get(&node) {
            Some(index) => self.steps.get(*index),
            None => self.steps.iter().flat_map(|step| &step.bodies).find_map(|body| body.step(node)),
        }
    }

    /// As [`Plan::step`], for a change: what was made ready of it is not so any more.
    pub(super) fn step_mut(&mut self, node: Handle) -> Option<&mut Step> {
        let outer = match self.index.get(&node) {
            Some(index) => *index,
            None => self.steps.iter().position(|step| step.bodies.iter().any(|body| body.step(node).is_some()))?,
        };
        let step = self.steps.get_mut(outer)?;
        step.ready = None;
        if step.node == node { Some(step) } else { step.bodies.iter_mut().find_map(|body| body.step_mut(node)) }
    }

    /// Whether a kernel of it can call the device's runtime library.
    pub(super) fn calls_runtime(&self) -> bool {
        self.steps.iter().any(|step| {
            let calls = matches!(&step.work, Work::Kernel(kernel) if kernel.function.resources().device_runtime);
            calls || step.bodies.iter().any(Plan::calls_runtime)
        })
    }

    /// The place of a node among the steps.
    pub(super) fn step_of(&self, node: Handle) -> Option<usize> {
        self.index.get(&node).copied()
    }

    /// Gives every step a lane: that of a step before it, if nothing was put there since.
    fn deal(&mut self) {
        let mut tails: Vec<usize> = Vec::new();
        for index in 0..self.steps.len() {
            let step = &self.steps[index];
            let follows = step.dependencies.iter().find_map(|dependency| {
                let lane = self.steps[*dependency].lane;
                (tails.get(lane) == Some(dependency)).then_some(lane)
            });
            let lane = match follows {
                Some(lane) => lane,
                None if tails.len() < MOST_LANES => {
                    tails.push(index);
                    tails.len() - 1
                }
                None => index % MOST_LANES,
            };
            tails[lane] = index;
            // Of each other lane only the last step counts.
            let mut waits = BTreeMap::new();
            for dependency in &self.steps[index].dependencies {
                let other = self.steps[*dependency].lane;
                if other != lane {
                    let last = waits.entry(other).or_insert(*dependency);
                    *last = (*last).max(*dependency);
                }
            }
            for wait in waits.values() {
                self.steps[*wait].marked = true;
            }
            let step = &mut self.steps[index];
            step.lane = lane;
            step.waits = waits.into_values().collect();
        }
        self.lanes = tails.len().max(1);
        self.ends = tails.into_iter().skip(1).collect();
        for end in &self.ends {
            self.steps[*end].marked = true;
        }
    }
}

/// Appends the nodes of a graph; `entry` are the steps that it comes after. Gives those that nothing of it comes after.
fn append(graph: &Graph, entry: &[usize], steps: &mut Vec<Step>) -> Result<Vec<usize>, Cycle> {
    let state = graph.state.lock();
    let mut missing: BTreeMap<u32, usize> = BTreeMap::new();
    let mut ready = BTreeSet::new();
    for (local, node) in &state.nodes {
        if node.dependencies.is_empty() {
            ready.insert(*local);
        } else {
            missing.insert(*local, node.dependencies.len());
        }
    }
    let mut placed: BTreeMap<u32, usize> = BTreeMap::new();
    let mut exits = Vec::new();
    while let Some(local) = ready.pop_first() {
        let Some(node) = state.nodes.get(&local) else { continue };
        let mut dependencies: Vec<usize> =
            node.dependencies.iter().filter_map(|dependency| placed.get(&dependency.node).copied()).collect();
        if dependencies.is_empty() {
            dependencies = entry.to_vec();
        }
        let first = steps.len();
        if let Work::Graph(inner) = &node.work {
            let ends = append(inner, &dependencies, steps)?;
            if !ends.is_empty() {
                dependencies = ends;
            }
        }
        let inner = first..steps.len();
        let bodies = match &node.work {
            Work::Conditional(work) => work.bodies.iter().map(|body| Plan::of(body)).collect::<Result<_, _>>()?,
            _ => Vec::new(),
        };
        placed.insert(local, steps.len());
        if node.dependents.is_empty() {
            exits.push(steps.len());
        }
        steps.push(Step {
            node: node.handle,
            work: node.work.clone(),
            ready: None,
            dependencies,
            inner,
            bodies,
            lane: 0,
            waits: Vec::new(),
            marked: false,
            enabled: true,
        });
        for later in &node.dependents {
            if let Some(count) = missing.get_mut(later) {
                *count -= 1;
                if *count == 0 {
                    missing.remove(later);
                    ready.insert(*later);
                }
            }
        }
    }
    let stuck = missing.keys().next().and_then(|local| state.nodes.get(local));
    match stuck {
        Some(node) => Err(Cycle { node: node.handle }),
        None => Ok(exits),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Weak;
    use std::sync::atomic::AtomicBool;

    use parking_lot::Mutex;

    use super::super::dependency::{Dependency, EdgeData};
    use super::super::{Node, State};
    use super::*;

    /// A graph of empty nodes with these edges.
    fn graph(nodes: u32, edges: &[(u32, u32)]) -> Graph {
        let mut state = State { next_node: nodes, instance: Weak::new(), ..State::default() };
        for local in 0..nodes {
            let before = edges.iter().filter(|(_, to)| *to == local);
            let dependencies = before.map(|(from, _)| Dependency { node: *from, edge: EdgeData::default() }).collect();
            let dependents = edges.iter().filter(|(from, _)| *from == local).map(|(_, to)| *to).collect();
            let handle = Handle::from_raw(0x10000 + 16 * local as usize);
            let node = Node { handle, work: Work::Empty, dependencies, dependents, original: Handle::NULL };
            state.nodes.insert(local, node);
        }
        Graph {
            handle: Handle::NULL,
            id: 1,
            root: 1,
            embedded: AtomicBool::new(false),
            made_for_node: false,
            state: Mutex::new(state),
        }
    }

    /// Whether what is put into the lanes keeps all dependencies, and the end of the launch waits for all lanes.
    fn check(plan: &Plan, nodes: u32, edges: &[(u32, u32)]) {
        assert_eq!(plan.steps.len(), nodes as usize);
        let place = |local: u32| plan.step_of(Handle::from_raw(0x10000 + 16 * local as usize)).unwrap();
        for (from, to) in edges {
            let (from, to) = (place(*from), place(*to));
            assert!(from < to);
            let (first, second) = (&plan.steps[from], &plan.steps[to]);
            let waits = |wait: &usize| {
                plan.steps[*wait].lane == first.lane && *wait >= from && *wait < to && plan.steps[*wait].marked
            };
            assert!(first.lane == second.lane || second.waits.iter().any(waits), "{from} before {to}");
        }
        for lane in 1..plan.lanes {
            let last = plan.steps.iter().rposition(|step| step.lane == lane).unwrap();
            assert!(plan.ends.contains(&last) && plan.steps[last].marked);
        }
    }

    #[test]
    fn a_row_stays_in_one_lane_without_waits() {
        let edges: Vec<(u32, u32)> = (1..10).map(|node| (node - 1, node)).collect();
        let plan = Plan::of(&graph(10, &edges)).ok().unwrap();
        check(&plan, 10, &edges);
        assert_eq!((plan.lanes, plan.ends.len()), (1, 0));
        assert!(plan.steps.iter().all(|step| step.waits.is_empty() && !step.marked));
    }

    #[test]
    fn branches_get_lanes_of_their_own_up_to_the_limit() {
        let diamond = [(0, 1), (0, 2), (1, 3), (2, 3)];
        let plan = Plan::of(&graph(4, &diamond)).ok().unwrap();
        check(&plan, 4, &diamond);
        assert_eq!(plan.lanes, 2);
        let fan: Vec<(u32, u32)> = (1..100).map(|node| (0, node)).collect();
        let plan = Plan::of(&graph(100, &fan)).ok().unwrap();
        check(&plan, 100, &fan);
        assert_eq!(plan.lanes, MOST_LANES);
    }

    #[test]
    fn any_graph_keeps_its_order() {
        let mut seed = 1u64;
        let mut random = |below: u32| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as u32 % below
        };
        for _ in 0..200 {
            let nodes = 2 + random(60);
            let mut edges: Vec<(u32, u32)> = (0..random(150)).map(|_| (random(nodes), random(nodes))).collect();
            edges.retain(|(from, to)| from < to);
            edges.sort_unstable();
            edges.dedup();
            check(&Plan::of(&graph(nodes, &edges)).ok().unwrap(), nodes, &edges);
        }
    }

    #[test]
    fn a_node_that_comes_after_itself_is_named() {
        let cycle = Plan::of(&graph(4, &[(0, 1), (1, 2), (2, 3), (3, 1)])).err().unwrap();
        assert_eq!(cycle.node, Handle::from_raw(0x10010));
    }
}
