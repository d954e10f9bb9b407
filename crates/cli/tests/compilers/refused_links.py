"""Prints what the nvJitLink that is named says of options and inputs that it refuses."""
import sys

from support import ANY, IMAGE, LTO, PTX, JitLink

jitlink = JitLink(sys.argv[1])
for options in [[], ["-arch=compute_90"], ["-arch=sm_90", "-nothing"], ["-arch", "sm_90"], ["-arch=sm_90", "-ptx"]]:
    statuses, get, _ = jitlink.link([], options)
    print(options, statuses, get("ErrorLog"))
for kind in [0, IMAGE, PTX, LTO, 4, 5, 6, ANY]:
    statuses, get, link = jitlink.link([("nonsense", kind, b"nonsense")], ["-arch=sm_90", "-lto"])
    print(kind, statuses[:2], get("ErrorLog")[1].split(b"\n")[0])
    jitlink.destroy(link)
statuses, get, link = jitlink.link([("nothing", PTX, "/nonexistent/file")], ["-arch=sm_90"])
print(statuses[:2], get("ErrorLog")[1].split(b"\n")[0])
