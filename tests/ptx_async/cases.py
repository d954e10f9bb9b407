"""A case: a kernel, how it is launched, and what of its output is compared."""
import zlib

WORDS = b"".join(((index * 2654435761 + 12345) & 0xffffffff).to_bytes(4, "little") for index in range(16384))


class Case:
    """`out`: what the output holds before, or its size. `maps`: up to two tensor maps, of ("in" | "out", spec). `fact`: recorded, and not compared.
    `compared`: so many bytes of the output are."""

    def __init__(self, name, text, out=1024, input=WORDS, grid=1, block=128, cluster=None, shared=0, maps=(), fact=False, compared=None):
        triple = lambda shape: (shape, 1, 1) if isinstance(shape, int) else tuple(shape)
        self.name, self.text, self.maps, self.fact, self.shared = name, text, maps, fact, shared
        self.compared = compared
        self.out = bytes(out) if isinstance(out, int) else out
        self.input = input
        self.grid, self.block, self.cluster = triple(grid), triple(block), triple(cluster) if cluster else None

    def key(self):
        """What a recording belongs to."""
        parts = (self.text, self.out, self.input, self.grid, self.block, self.cluster, self.shared, self.maps)
        return f"{zlib.crc32(repr(parts).encode()):08x}"
