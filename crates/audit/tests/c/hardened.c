/* Starts a program that may not execute what it could write to. */
#include <sys/prctl.h>
#include <unistd.h>

#define SET_MDWE 65
#define REFUSE_EXEC_GAIN 1

int main(int count, char **arguments) {
  (void)count;
  if (prctl(SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0) != 0) return 77;
  execv(arguments[1], arguments + 1);
  return 1;
}
