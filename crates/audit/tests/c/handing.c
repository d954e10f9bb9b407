/* A stand-in for our library in front of Python modules: says which function was reached, and does what Python would. */
#include <stdio.h>

int PyDict_SetItemString(void *, const char *, void *);

#define OURS(name) \
  int name(void *dictionary, const char *key, void *value) { printf("%s: ", #name); return PyDict_SetItemString(dictionary, key, value); }

OURS(warploom_python_11)
OURS(warploom_python_12)
OURS(warploom_python_13)
OURS(warploom_python_13_ptds)
