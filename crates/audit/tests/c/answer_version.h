/* What tells the version of a runtime library without a symbol table: the code of its function that answers VERSION. */
#define TEXT(x) #x
#define IN_TEXT(x) TEXT(x)

__attribute__((visibility("hidden"))) int answer_version(int *version);
__asm__(".text\n"
        "answer_version:\n"
        "  movl $" IN_TEXT(VERSION) ", (%rdi)\n"
        "  xor %eax, %eax\n"
        "  ret\n");
