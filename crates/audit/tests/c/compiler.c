/* A stand-in for a compiler of NVIDIA's: two functions that answer with what they are given, one of which calls the other. */
int nvrtcVersion(int value) { return value; }
int nvrtcCompileProgram(int value) { return 10 * nvrtcVersion(value); }
/* Not one of the names that are led through ours. */
int other(int value) { return nvrtcCompileProgram(value); }
