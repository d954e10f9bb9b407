#!/usr/bin/env python3
"""Records what a runtime library answers to calls about kernels, graphs and captures: attributes of kernels, grids that are possible, what is told of occupancy, nodes of all kinds with parameters that are right or wrong, what may become of them in a
graph and in an instance, edges, conditional nodes, memory of graphs, and what each call does to a capture in each mode. Prints JSON: for each case the answers in the order of its arguments.

Not here: what makes NVIDIA's runtime fault, such as places for answers that are NULL; what follows from the number of multiprocessors; and parameters of nodes with kernels of libraries, which runtime 13.0 does not tell.

    runtime_graphs.py [LIBCUDART] > runtime/graphs_13.json
    runtime_graphs.py --check runtime/graphs_13.json [LIBCUDART]
"""
import ctypes as C
import itertools
import struct
import sys

import recorded
from runtime_calls import PAGE, Copy3D, Extent, Pitched, Runtime, case, sizes

PTX = b"""
.version 9.0
.target sm_90
.address_size 64
.visible .entry empty() { ret; }
.visible .entry plain(.param .u64 at, .param .u32 value)
{
    .reg .u64 %rd<2>; .reg .u32 %r;
    ld.param.u64 %rd0, [at];
    cvta.to.global.u64 %rd1, %rd0;
    ld.param.u32 %r, [value];
    st.global.u32 [%rd1], %r;
    ret;
}
.visible .entry shared(.param .u64 at)
{
    .shared .align 4 .b8 kept[40000];
    .reg .u64 %rd; .reg .u32 %r<3>;
    mov.u32 %r0, kept;
    mov.u32 %r1, %tid.x;
    st.shared.u32 [%r0], %r1;
    bar.sync 0;
    ld.shared.u32 %r2, [%r0];
    ld.param.u64 %rd, [at];
    st.global.u32 [%rd], %r2;
    ret;
}
.visible .entry bounded(.param .u64 at) .maxntid 128, 1, 1 { ret; }
.visible .entry required(.param .u64 at) .reqntid 64, 2, 1 { ret; }
.visible .entry clustered(.param .u64 at) .explicitcluster .reqnctapercluster 2, 1, 1 { ret; }
.visible .entry structure(.param .align 16 .b8 a[48], .param .u8 b, .param .f64 c, .param .u16 d) { ret; }
"""
KERNELS = ("empty", "plain", "shared", "bounded", "required", "clustered", "structure")
CALLED = C.CFUNCTYPE(None, C.c_void_p)(lambda _: None)


class Size(C.Structure):             # dim3
    _fields_ = [(axis, C.c_uint) for axis in "xyz"]


class Launch(C.Structure):           # cudaKernelNodeParams
    _fields_ = [("kernel", C.c_void_p), ("grid", Size), ("block", Size), ("shared", C.c_uint), ("arguments", C.c_void_p), ("extra", C.c_void_p)]


class Configuration(C.Structure):    # cudaLaunchConfig_t
    _fields_ = [("grid", Size), ("block", Size), ("shared", C.c_size_t), ("stream", C.c_void_p), ("attributes", C.c_void_p), ("count", C.c_uint)]


class LaunchAttribute(C.Structure):  # cudaLaunchAttribute
    _fields_ = [("id", C.c_uint), ("padding", C.c_uint), ("value", C.c_ubyte * 64)]


class Fill(C.Structure):             # cudaMemsetParams
    _fields_ = [("at", C.c_void_p), ("pitch", C.c_size_t), ("value", C.c_uint), ("element", C.c_uint), ("width", C.c_size_t), ("height", C.c_size_t)]


class Call(C.Structure):             # cudaHostNodeParams
    _fields_ = [("function", C.c_void_p), ("data", C.c_void_p)]


class Location(C.Structure):         # cudaMemLocation
    _fields_ = [("type", C.c_int), ("id", C.c_int)]


class Pool(C.Structure):             # cudaMemPoolProps
    _fields_ = [("memory", C.c_int), ("handles", C.c_int), ("location", Location), ("security", C.c_void_p), ("most", C.c_size_t), ("usage", C.c_ushort), ("reserved", C.c_ubyte * 54)]


class Allocation(C.Structure):       # cudaMemAllocNodeParams
    _fields_ = [("pool", Pool), ("access", C.c_void_p), ("count", C.c_size_t), ("size", C.c_size_t), ("at", C.c_void_p)]


class Node(C.Structure):             # cudaGraphNodeParams
    _fields_ = [("type", C.c_int), ("reserved0", C.c_int * 3), ("union", C.c_ubyte * 232), ("reserved2", C.c_uint64)]


class Update(C.Structure):           # cudaGraphExecUpdateResultInfo
    _fields_ = [("result", C.c_int), ("node", C.c_void_p), ("source", C.c_void_p)]


class Attributes(C.Structure):       # cudaFuncAttributes
    _fields_ = [(name, C.c_size_t) for name in ("shared", "constant", "local")] + [(name, C.c_int) for name in ("threads", "registers", "ptx", "binary", "cached", "dynamic", "carveout", "cluster", "width", "height", "depth", "policy", "large")] + [("reserved", C.c_int * 16)]


class Graphs(Runtime):
    """A runtime library with kernels, memory of all kinds, and streams of its own for captures."""

    def __init__(self, library):
        super().__init__(library)
        self.place, self.value, self.block = C.c_uint64(self.places["device"]), C.c_uint(7), C.create_string_buffer(64)
        self.arguments = (C.c_void_p * 2)(C.addressof(self.place), C.addressof(self.value))
        self.structure = (C.c_void_p * 4)(*[C.addressof(self.block)] * 4)
        self.loaded = self.library_of(PTX)
        self.kernels = {name: self.kernel(self.loaded, name) for name in KERNELS}
        self.second, self.later = None, None
        self.restart()

    def library_of(self, text):
        return self.made("cudaLibraryLoadData", text, None, None, 0, None, None, 0)

    def kernel(self, library, name):
        return self.made("cudaLibraryGetKernel", library, name.encode())

    def arguments_of(self, name):
        return {"empty": None, "structure": C.addressof(self.structure)}.get(name, C.addressof(self.arguments))

    def launch(self, name, grid=(1, 1, 1), block=(64, 2, 1), shared=0):
        return Launch(self.kernels[name], Size(*grid), Size(*block), shared, self.arguments_of(name), None)

    def copy(self, target, source, kind, extent=(16, 1, 1)):
        parameters = Copy3D(extent=Extent(*extent), kind=kind)
        parameters.srcPtr, parameters.dstPtr = Pitched(self.places[source], 256, 256, 16), Pitched(self.places[target], 256, 256, 16)
        return parameters

    def fill(self, place="device", pitch=0, element=4, width=16, height=1):
        return Fill(self.places[place], pitch, 0x1ff, element, width, height)

    def graph(self):
        return self.made("cudaGraphCreate", 0)

    def added(self, name, graph, parameters):
        """The answer and a node that comes after none."""
        node = C.c_void_p()
        return self.code(name, C.byref(node), graph, None, C.c_size_t(0), C.byref(parameters) if parameters else None), node

    def node(self, graph, parameters, after=(), edges=None):
        """The same of a node of any kind."""
        node = C.c_void_p()
        return self.code("cudaGraphAddNode", C.byref(node), graph, listed(after), edges, C.c_size_t(len(after)), C.byref(parameters)), node

    def empty(self, graph):
        return self.node(graph, Node(type=5))[1]

    def instance(self, graph, flags=0):
        made = C.c_void_p()
        return self.code("cudaGraphInstantiate", C.byref(made), graph, C.c_uint64(flags)), made

    def run(self, instance):
        return self.code("cudaGraphLaunch", instance, self.stream), self.code("cudaStreamSynchronize", self.stream)

    def kind(self, node):
        told = C.c_int(-1)
        return self.code("cudaGraphNodeGetType", node, C.byref(told)), told.value

    def count(self, graph):
        number = C.c_size_t()
        return self.code("cudaGraphGetNodes", graph, None, C.byref(number)), number.value

    def parameters(self, name):
        """Parameters of a node of a kind, which are right."""
        if name == "graph":
            graph = self.graph()
            self.empty(graph)
            return node_of(4, struct.pack("QQ", graph.value, 0))
        return {"kernel": lambda: node_of(0, bytes(self.launch("plain"))), "copy": lambda: node_of(1, bytes(16) + bytes(self.copy("other", "device", 3))), "fill": lambda: node_of(2, bytes(self.fill())),
                "call": lambda: node_of(3, bytes(Call(C.cast(CALLED, C.c_void_p), None))), "empty": lambda: node_of(5), "wait": lambda: node_of(6, struct.pack("Q", self.event.value)),
                "record": lambda: node_of(7, struct.pack("Q", self.event.value)), "allocation": lambda: node_of(10, bytes(allocation()))}[name]()

    def restart(self):
        """Ends captures, and makes the streams and events anew."""
        for stream in (self.stream, self.second):
            if stream is not None:
                self.library.cudaStreamEndCapture(stream, C.byref(C.c_void_p()))
                self.library.cudaStreamDestroy(stream)
        self.library.cudaGetLastError()
        self.stream, self.second = self.made("cudaStreamCreate"), self.made("cudaStreamCreateWithFlags", 1)
        self.event, self.later = self.made("cudaEventCreate"), self.made("cudaEventCreate")


NODES = ("kernel", "copy", "fill", "call", "empty", "wait", "record", "allocation", "graph")


def listed(nodes):
    return (C.c_void_p * max(1, len(nodes)))(*[node.value for node in nodes])


def node_of(type, union=b"", reserved0=0, reserved2=0, tail=0):
    node = Node(type=type, reserved2=reserved2)
    node.reserved0[0] = reserved0
    C.memmove(node.union, union, len(union))
    node.union[231] = tail
    return node


def allocation(memory=1, handles=0, type=1, id=0, size=PAGE):
    return Allocation(Pool(memory, handles, Location(type, id), None, 0, 0), None, 0, size, None)


def kernels(runtime):
    def attributes(kernel):
        told = Attributes()
        code = runtime.code("cudaFuncGetAttributes", C.byref(told), kernel)
        return code, told.shared, told.threads, told.ptx, told.dynamic, told.carveout, told.cluster, told.width, told.height, told.depth, told.policy

    def changed(name, attribute, value):
        library = runtime.library_of(PTX)
        kernel = runtime.kernel(library, name)
        answer = runtime.code("cudaFuncSetAttribute", kernel, attribute, value), attributes(kernel)
        runtime.call("cudaLibraryUnload", library)
        return answer

    def launched(name, grid, block, shared, cooperative=False):
        function = "cudaLaunchCooperativeKernel" if cooperative else "cudaLaunchKernel"
        return runtime.code(function, runtime.kernels[name], Size(*grid), Size(*block), C.c_void_p(runtime.arguments_of(name)), C.c_size_t(shared), None), runtime.code("cudaDeviceSynchronize")

    def with_cluster(name, cluster, grid):
        attribute = LaunchAttribute(4)
        C.memmove(attribute.value, struct.pack("=3i", *cluster), 12)
        configuration = Configuration(Size(*grid), Size(64, 2, 1), 0, None, C.addressof(attribute), 1)
        clusters, largest = C.c_int(), C.c_int()
        return (runtime.code("cudaLaunchKernelExC", C.byref(configuration), runtime.kernels[name], C.c_void_p(runtime.arguments_of(name))), runtime.code("cudaDeviceSynchronize"),
                runtime.code("cudaOccupancyMaxActiveClusters", C.byref(clusters), runtime.kernels[name], C.byref(configuration)), runtime.code("cudaOccupancyMaxPotentialClusterSize", C.byref(largest), runtime.kernels[name], C.byref(configuration)))

    def parameter(name, index):
        offset, size = C.c_size_t(77), C.c_size_t(77)
        return runtime.code("cudaFuncGetParamInfo", runtime.kernels[name], C.c_size_t(index), C.byref(offset), C.byref(size)), offset.value, size.value

    def occupancy(name, function, *preference):
        """How many blocks a multiprocessor holds of a kernel that prefers something, and how much memory each of some may have."""
        library, blocks, size = runtime.library_of(PTX), C.c_int(), C.c_size_t()
        kernel = runtime.kernel(library, name)
        answer = [runtime.code(function, kernel, *preference)]
        for shared in (0, 1000, 8192, 16384, 49152):
            answer.append((runtime.code("cudaOccupancyMaxActiveBlocksPerMultiprocessor", C.byref(blocks), kernel, 64, C.c_size_t(shared)), blocks.value))
        for count in (1, 2, 4, 16):
            answer.append((runtime.code("cudaOccupancyAvailableDynamicSMemPerBlock", C.byref(size), kernel, count, 64), size.value))
        runtime.call("cudaLibraryUnload", library)
        return answer

    clusters = ((1, 1, 1), (2, 1, 1), (4, 1, 1), (8, 1, 1), (16, 1, 1), (3, 1, 1), (1, 2, 1), (0, 0, 0), (0, 1, 1), (2, 2, 2))
    for name in KERNELS:
        yield case(f"attributes of {name}", attributes(runtime.kernels[name]))
        yield case(f"parameters of {name}", (parameter(name, index) for index in range(6)))
        yield case(f"changes of {name}", (changed(name, attribute, value) for attribute in (*range(-1, 14), 15) for value in (-1, 0, 1, 2, 3, 8, 100, 101, 9152, 65536, 232448, 232449)))
        yield case(f"grids of {name}", (launched(name, grid, (1, 1, 1), 0, cooperative) for grid in ((1, 1, 1), (0, 1, 1), (3, 1, 1), (2, 1, 1), (1, 65536, 1), (1, 1, 65536), (1 << 31, 1, 1)) for cooperative in (False, True)))
        yield case(f"blocks of {name}", (launched(name, (2, 1, 1), block, 0) for block in ((0, 1, 1), (1024, 1, 1), (1025, 1, 1), (1, 1, 65), (32, 32, 1), (33, 32, 1), (128, 1, 1), (64, 2, 1), (129, 1, 1))))
        yield case(f"shared memory of {name}", (launched(name, (2, 1, 1), (64, 2, 1), shared) for shared in (0, 1000, 9152, 9153, 49152, 49153, 232449, 1 << 31)))
        yield case(f"clusters of {name}", (with_cluster(name, cluster, grid) for cluster in clusters for grid in ((16, 4, 4), (6, 2, 1))))
        yield case(f"nodes of {name}", (kernel_node(runtime, name, grid, block, shared) for grid in ((1, 1, 1), (0, 1, 1), (2, 1, 1)) for block in ((64, 2, 1), (0, 1, 1), (129, 1, 1)) for shared in (0, 1000)))
    for name in ("empty", "shared"):
        percents = (-1, 0, 3, 4, 7, 8, 14, 15, 28, 29, 43, 44, 57, 58, 71, 72, 85, 86, 100)
        yield case(f"occupancy of {name}", [occupancy(name, "cudaFuncSetAttribute", 9, percent) for percent in percents] + [occupancy(name, "cudaFuncSetCacheConfig", config) for config in range(4)])
    for kept, given in itertools.product(("empty", "plain", "structure"), KERNELS):
        graph = runtime.graph()
        _, node = runtime.added("cudaGraphAddKernelNode", graph, runtime.launch(kept))
        _, instance = runtime.instance(graph)
        launch, told = runtime.launch(given), Update()
        yield case(f"{kept} becomes {given}", [runtime.code("cudaGraphExecKernelNodeSetParams", instance, node, C.byref(launch)), runtime.code("cudaGraphKernelNodeSetParams", node, C.byref(launch)),
                                               runtime.code("cudaGraphExecUpdate", instance, graph, C.byref(told)), told.result, runtime.run(instance)])
    for attribute in (x for x in range(-1, 13)):
        _, node = runtime.added("cudaGraphAddKernelNode", runtime.graph(), runtime.launch("plain"))
        told = C.create_string_buffer(64)
        yield case(f"attribute {attribute} of nodes", [runtime.code("cudaGraphKernelNodeGetAttribute", node, attribute, told), told.raw.hex()]
                   + [(runtime.code("cudaGraphKernelNodeSetAttribute", node, attribute, C.create_string_buffer(struct.pack("=3i", *words), 64)), runtime.code("cudaGraphKernelNodeGetAttribute", node, attribute, told), told.raw.hex())
                      for words in ((0, 0, 0), (1, 1, 1), (2, 1, 1), (-1, 0, 0), (3, 1, 1))])


def kernel_node(runtime, name, grid, block, shared):
    graph = runtime.graph()
    code, node = runtime.added("cudaGraphAddKernelNode", graph, runtime.launch(name, grid, block, shared))
    if code != 0:
        return code
    code, instance = runtime.instance(graph)
    return code, runtime.run(instance)


def copies(runtime):
    places, others = ("host", "pinned", "device", "managed", "nothing"), (("other", "device", 3), ("host", "device", 2), ("device", "host", 1), ("managed", "managed", 4), ("device", "pinned", 4), ("nothing", "device", 4), ("host", "host", 0))

    def node(target, source, kind):
        graph = runtime.graph()
        code, node = runtime.added("cudaGraphAddMemcpyNode", graph, runtime.copy(target, source, kind))
        if code != 0:
            return code
        told = Copy3D()
        answer = runtime.code("cudaGraphMemcpyNodeGetParams", node, C.byref(told)), told.kind, told.extent.width, told.srcPtr.pitch, told.srcPtr.xsize, told.srcPtr.ysize
        code, instance = runtime.instance(graph)
        return answer, code, [(runtime.code("cudaGraphExecMemcpyNodeSetParams", instance, node, C.byref(runtime.copy(*other))), runtime.code("cudaGraphMemcpyNodeSetParams", node, C.byref(runtime.copy(*other)))) for other in others]

    def line(target, source, count, kind):
        node, told = C.c_void_p(), Copy3D()
        code = runtime.code("cudaGraphAddMemcpyNode1D", C.byref(node), runtime.graph(), None, C.c_size_t(0), C.c_void_p(runtime.places[target]), C.c_void_p(runtime.places[source]), C.c_size_t(count), kind)
        return (code, runtime.code("cudaGraphMemcpyNodeGetParams", node, C.byref(told)), told.kind, told.extent.width, told.srcPtr.pitch, told.dstPtr.xsize, told.dstPtr.ysize) if code == 0 else code

    for target, source in itertools.product(places, repeat=2):
        yield case(f"copies to {target} of {source}", [node(target, source, kind) for kind in (0, 1, 2, 3, 4, 5, -1)] + [line(target, source, count, kind) for count in (0, 8) for kind in range(5)])

    def filled(*shape):
        graph, parameters, told = runtime.graph(), runtime.fill(*shape), Fill()
        code, node = runtime.added("cudaGraphAddMemsetNode", graph, parameters)
        answer = [code]
        if code == 0:
            code, instance = runtime.instance(graph)
            answer += [runtime.code("cudaGraphMemsetNodeGetParams", node, C.byref(told)), told.pitch, told.value, told.element, told.width, told.height, code, runtime.run(instance)]
        graph = runtime.graph()
        _, node = runtime.added("cudaGraphAddMemsetNode", graph, runtime.fill())
        _, instance = runtime.instance(graph)
        return answer + [runtime.code("cudaGraphExecMemsetNodeSetParams", instance, node, C.byref(parameters)), runtime.code("cudaGraphMemsetNodeSetParams", node, C.byref(parameters))]

    for place in ("device", "managed", "pinned", "nothing"):
        yield case(f"fills of {place}", (filled(place, pitch, element, width, height) for element in (0, 1, 2, 3, 4, 8) for width in (0, 1, 16) for height in (0, 1, 4) for pitch in (0, 16, 64)))


def nodes(runtime):
    for name in NODES:
        def tried(**wrong):
            graph = runtime.graph()
            given = runtime.parameters(name)
            code, node = runtime.node(graph, node_of(given.type, bytes(given.union)[:231], **wrong))
            return (code, runtime.kind(node), runtime.instance(graph)[0], runtime.count(graph)) if code == 0 else code

        yield case(f"a node: {name}", [tried(), tried(reserved0=1), tried(reserved2=1), tried(tail=1)])

        def enabled(value):
            graph, told = runtime.graph(), C.c_uint(7)
            _, node = runtime.node(graph, runtime.parameters(name))
            _, instance = runtime.instance(graph)
            return runtime.code("cudaGraphNodeSetEnabled", instance, node, value), runtime.code("cudaGraphNodeGetEnabled", instance, node, C.byref(told)), told.value, runtime.run(instance)

        yield case(f"{name} enabled", map(enabled, range(3)))
        graph, clone, found, child, inside = runtime.graph(), C.c_void_p(), C.c_void_p(), C.c_void_p(), C.c_void_p()
        _, node = runtime.node(graph, runtime.parameters(name))
        code = runtime.code("cudaGraphClone", C.byref(clone), graph)
        yield case(f"{name} cloned", [code, runtime.code("cudaGraphNodeFindInClone", C.byref(found), node, clone), bool(found.value), runtime.code("cudaGraphNodeFindInClone", C.byref(found), node, graph)])
        outer = runtime.graph()
        code = runtime.code("cudaGraphAddChildGraphNode", C.byref(child), outer, None, C.c_size_t(0), graph)
        yield case(f"{name} inside", [code, runtime.code("cudaGraphChildGraphNodeGetGraph", child, C.byref(inside)) if code == 0 else None, inside.value != graph.value, runtime.instance(outer)[0], runtime.code("cudaGraphDestroyNode", node)])
        graph = runtime.graph()
        _, node = runtime.node(graph, runtime.parameters(name))
        getters = ("MemcpyNodeGetParams", "MemsetNodeGetParams", "HostNodeGetParams", "EventRecordNodeGetEvent", "EventWaitNodeGetEvent", "MemAllocNodeGetParams", "MemFreeNodeGetParams", "ChildGraphNodeGetGraph")
        yield case(f"{name} asked", (runtime.code("cudaGraph" + getter, node, C.create_string_buffer(256)) for getter in getters))
    for before, after in itertools.product(NODES, repeat=2):
        def changed():
            graph = runtime.graph()
            _, node = runtime.node(graph, runtime.parameters(before))
            _, instance = runtime.instance(graph)
            given = runtime.parameters(after)
            return runtime.code("cudaGraphNodeSetParams", node, C.byref(given)), runtime.code("cudaGraphExecNodeSetParams", instance, node, C.byref(given))

        def updated():
            graph, other = runtime.graph(), runtime.graph()
            _, first = runtime.node(graph, runtime.parameters(before))
            code, _ = runtime.node(graph, runtime.parameters(after), (first,))
            made, instance = runtime.instance(graph)
            answer, told = [code, made, runtime.run(instance)], Update()
            runtime.node(other, runtime.parameters(before))
            _, instance = runtime.instance(other)
            return answer + [runtime.code("cudaGraphExecUpdate", instance, graph, C.byref(told)), told.result, bool(told.node), bool(told.source)]

        yield case(f"{before} becomes {after}", changed())
        yield case(f"{before} and {after}", updated())
    yield case("no nodes", (runtime.node(runtime.graph(), Node(type=type))[0] for type in (*range(-1, 15), 19)))


def edges(runtime):
    def edge(ends, *fields):
        graph = runtime.graph()
        first, second = (runtime.node(graph, runtime.parameters(end))[1] for end in ends)
        given, told, number = C.create_string_buffer(bytes(fields), 8), C.create_string_buffer(8), C.c_size_t(1)
        pair = listed((first,)), listed((second,))
        code = runtime.code("cudaGraphAddDependencies", graph, *pair, given, C.c_size_t(1))
        return (code, runtime.code("cudaGraphGetEdges", graph, listed(()), listed(()), told, C.byref(number)), number.value, told.raw.hex(), runtime.instance(graph)[0], runtime.node(graph, runtime.parameters(ends[1]), (first,), given)[0],
                runtime.code("cudaGraphRemoveDependencies", graph, *pair, None, C.c_size_t(1)), runtime.code("cudaGraphRemoveDependencies", graph, *pair, given, C.c_size_t(1)))

    for ends in (("kernel", "kernel"), ("empty", "kernel"), ("kernel", "empty"), ("copy", "kernel")):
        yield case(f"edges from {ends[0]} to {ends[1]}", (edge(ends, *fields) for fields in itertools.product(range(4), range(2), range(3), range(2))))


def conditions(runtime):
    def conditional(graph, value, flags, type, size):
        handle = C.c_uint64()
        code = runtime.code("cudaGraphConditionalHandleCreate", C.byref(handle), graph, value, flags)
        given = node_of(13, struct.pack("QiI", handle.value, type, size))
        added, node = runtime.node(graph, given)
        at = struct.unpack_from("Q", bytes(given.union), 16)[0]
        return code, added, node, [C.c_void_p(body) for body in (C.c_void_p * size).from_address(at)] if added == 0 else []

    def bodies(*arguments):
        graph = runtime.graph()
        code, added, node, bodies = conditional(graph, *arguments)
        return code, added, len(bodies), runtime.kind(node) if added == 0 else None, runtime.instance(graph)[0]

    yield case("conditional nodes", (bodies(*arguments) for arguments in itertools.product((0, 1), range(3), range(-1, 4), range(4))))
    for name in NODES:
        graph = runtime.graph()
        *_, node, (body,) = conditional(graph, 1, 1, 0, 1)
        code, _ = runtime.node(body, runtime.parameters(name))
        made, instance = runtime.instance(graph)
        yield case(f"a condition on {name}", [code, made, runtime.run(instance) if made == 0 else None, runtime.code("cudaGraphClone", C.byref(C.c_void_p()), graph)])

    def allocated(*arguments):
        graph, given = runtime.graph(), allocation(*arguments)
        code, node = runtime.added("cudaGraphAddMemAllocNode", graph, given)
        if code != 0:
            return code
        free, after = C.c_void_p(), listed((node,))
        made, instance = [runtime.code("cudaGraphAddMemFreeNode", C.byref(free), graph, after, C.c_size_t(1), C.c_void_p(given.at)) for _ in range(2)], runtime.instance(graph)
        return made, runtime.code("cudaGraphDestroyNode", node), runtime.code("cudaGraphClone", C.byref(C.c_void_p()), graph), instance[0], runtime.run(instance[1]), runtime.instance(graph)[0]

    yield case("memory of graphs", (allocated(*arguments) for arguments in itertools.product(range(3), range(2), range(4), range(2), (0, PAGE, 1 << 50))))


def captures(runtime):
    device, other, host = (C.c_void_p(runtime.places[name]) for name in ("device", "other", "host"))
    byte, page = C.c_size_t(8), C.c_size_t(PAGE)
    new = lambda: C.byref(C.c_void_p())
    launch = lambda stream, threads=1: runtime.code("cudaLaunchKernel", runtime.kernels["plain"], Size(1, 1, 1), Size(threads, 1, 1), runtime.arguments, C.c_size_t(0), stream)
    fill = lambda: runtime.code("cudaMemsetAsync", device, 1, byte, runtime.stream)
    record = lambda event, stream: runtime.code("cudaEventRecord", event, stream)
    wait = lambda stream, event: runtime.code("cudaStreamWaitEvent", stream, event, 0)
    fork = lambda: (record(runtime.event, runtime.stream), wait(runtime.second, runtime.event), runtime.code("cudaMemsetAsync", device, 1, byte, runtime.second))

    def allocate_and_free():
        memory = C.c_void_p()
        return runtime.code("cudaMallocAsync", C.byref(memory), byte, runtime.stream), runtime.code("cudaFreeAsync", memory, runtime.stream)

    def exchanged():
        mode = C.c_int(2)
        return runtime.code("cudaThreadExchangeStreamCaptureMode", C.byref(mode)), mode.value, runtime.code("cudaMalloc", new(), byte), runtime.code("cudaThreadExchangeStreamCaptureMode", C.byref(mode)), mode.value

    calls = {
        "nothing": lambda: None, "fill": fill, "launch": lambda: launch(runtime.stream), "a wrong launch": lambda: launch(runtime.stream, 1025), "a launch elsewhere": lambda: launch(runtime.second), "a launch by default": lambda: launch(None),
        "a function": lambda: runtime.code("cudaLaunchHostFunc", runtime.stream, CALLED, None), "a callback": lambda: runtime.code("cudaStreamAddCallback", runtime.stream, CALLED, None, 0),
        "malloc": lambda: runtime.code("cudaMalloc", new(), byte), "free nothing": lambda: runtime.code("cudaFree", None), "host memory": lambda: runtime.code("cudaHostAlloc", new(), byte, 0), "managed memory": lambda: runtime.code("cudaMallocManaged", new(), byte, 1),
        "copy": lambda: runtime.code("cudaMemcpy", device, other, byte, 3), "copy of the host": lambda: runtime.code("cudaMemcpy", device, host, byte, 1), "rows": lambda: runtime.code("cudaMemcpy2D", device, C.c_size_t(64), other, *sizes(64, 8, 2), 3),
        "a copy by default": lambda: runtime.code("cudaMemcpyAsync", device, other, byte, 3, None), "a copy in the stream": lambda: runtime.code("cudaMemcpyAsync", device, other, byte, 3, runtime.stream),
        "a copy of the host in the stream": lambda: runtime.code("cudaMemcpyAsync", device, host, byte, 1, runtime.stream), "a wrong copy": lambda: runtime.code("cudaMemcpyAsync", device, other, byte, 9, runtime.stream),
        "a copy of nothing": lambda: runtime.code("cudaMemcpyAsync", device, other, C.c_size_t(0), 3, runtime.stream), "fill now": lambda: runtime.code("cudaMemset", device, 1, byte),
        "wait": lambda: runtime.code("cudaStreamSynchronize", runtime.stream), "wait by default": lambda: runtime.code("cudaStreamSynchronize", None), "wait elsewhere": lambda: runtime.code("cudaStreamSynchronize", runtime.second),
        "ask": lambda: runtime.code("cudaStreamQuery", runtime.stream), "ask by default": lambda: runtime.code("cudaStreamQuery", None), "wait for all": lambda: runtime.code("cudaDeviceSynchronize"),
        "record": lambda: record(runtime.event, runtime.stream), "record by default": lambda: record(runtime.event, None), "record outside": lambda: runtime.code("cudaEventRecordWithFlags", runtime.event, runtime.stream, 1),
        "wait for an event": lambda: wait(runtime.stream, runtime.event), "record and wait": lambda: (record(runtime.event, runtime.stream), runtime.code("cudaEventSynchronize", runtime.event)), "ask an event": lambda: runtime.code("cudaEventQuery", runtime.event),
        "fork": fork, "fork and join": lambda: (fork(), record(runtime.later, runtime.second), wait(runtime.stream, runtime.later)), "end elsewhere": lambda: (fork(), runtime.code("cudaStreamEndCapture", runtime.second, new())),
        "begin again": lambda: runtime.code("cudaStreamBeginCapture", runtime.stream, 0), "begin elsewhere": lambda: (runtime.code("cudaStreamBeginCapture", runtime.second, 0), runtime.code("cudaStreamEndCapture", runtime.second, new())),
        "memory in the stream": allocate_and_free, "free what is not the graph's": lambda: runtime.code("cudaFreeAsync", device, runtime.stream), "exchange": exchanged,
        "prefetch": lambda: runtime.code("cudaMemPrefetchAsync", C.c_void_p(runtime.places["managed"]), page, Location(1, 0), 0, runtime.stream), "advise": lambda: runtime.code("cudaMemAdvise", C.c_void_p(runtime.places["managed"]), page, 1, Location(1, 0)),
        "attach": lambda: runtime.code("cudaStreamAttachMemAsync", runtime.stream, C.c_void_p(runtime.places["managed"]), C.c_size_t(0), 1), "a stream": lambda: runtime.code("cudaStreamCreate", new()), "an event": lambda: runtime.code("cudaEventCreate", new()),
        "attributes": lambda: runtime.code("cudaFuncGetAttributes", C.byref(Attributes()), runtime.kernels["plain"]), "a pointer": lambda: runtime.code("cudaPointerGetAttributes", C.create_string_buffer(128), device),
        "free memory": lambda: runtime.code("cudaMemGetInfo", C.byref(C.c_size_t()), C.byref(C.c_size_t())), "a limit": lambda: runtime.code("cudaDeviceSetLimit", 1, C.c_size_t(1 << 20)), "a library": lambda: runtime.code("cudaLibraryLoadData", new(), PTX, None, None, 0, None, None, 0),
        "peers": lambda: runtime.code("cudaMemcpyPeerAsync", device, 0, other, 0, byte, runtime.stream), "boxes": lambda: runtime.code("cudaMemcpy3DAsync", C.byref(runtime.copy("device", "other", 3)), runtime.stream),
    }

    def state():
        told = C.c_int(-1)
        return runtime.code("cudaStreamIsCapturing", runtime.stream, C.byref(told)), told.value

    def ended():
        graph = C.c_void_p()
        code = runtime.code("cudaStreamEndCapture", runtime.stream, C.byref(graph))
        if not graph.value:
            return code
        number, found = C.c_size_t(16), (C.c_void_p * 16)()
        runtime.call("cudaGraphGetNodes", graph, found, C.byref(number))
        return code, [runtime.kind(C.c_void_p(node))[1] for node in found[:number.value]], runtime.instance(graph)[0]

    def captured(mode, *names):
        runtime.restart()
        answer = [runtime.code("cudaStreamBeginCapture", runtime.stream, mode)] + [calls[name]() for name in names] + [state(), fill(), ended()]
        runtime.restart()
        return answer

    for name in calls:
        yield case(f"captured: {name}", (captured(mode, name) for mode in range(3)))
    for first, second in itertools.product(("fill", "launch", "a function", "malloc", "fork", "fork and join", "record", "memory in the stream", "a copy of the host in the stream", "wait", "record outside"), repeat=2):
        yield case(f"captured: {first}, {second}", captured(2, first, second))
    yield case("modes", (runtime.code("cudaStreamBeginCapture", runtime.stream, mode) for mode in (-1, 3, 4)))
    yield case("streams", (runtime.code("cudaStreamBeginCapture", C.c_void_p(stream), 0) for stream in (None, 1)))


def cases(runtime):
    return [answer for group in (kernels, copies, nodes, edges, conditions, captures) for answer in group(runtime)]


if __name__ == "__main__":
    sys.exit(recorded.main(sys.argv[1:], cases, "calls about graphs", opened=Graphs, library="libcudart.so.13"))
