// The main function of a program of several translation units, each with a kernel and a constant of the same names.
#include <cstdio>

int first(int value);
int second(int value);

int main() {
  int result = second(first(1));
  printf("%d %s\n", result, cudaGetErrorString(cudaGetLastError()));
  return result != 211;
}
