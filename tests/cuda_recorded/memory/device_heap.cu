// Memory that kernels allocate, and what they print.
#include "show.h"

struct Node {
    int value;
    Node *next;
};

__device__ Node *head;

__global__ void build(int count) {
    for (int index = 0; index < count; index++) {
        Node *node = (Node *)malloc(sizeof(Node));
        node->value = index;
        node->next = head;
        head = node;
    }
    printf("built %d nodes, %s %c %5.2f %llx\n", count, "text", 'c', 1.5, 0x123456789abcull);
}

__global__ void sum(int *result) {
    while (head != nullptr) {
        Node *next = head->next;
        *result += head->value;
        free(head);
        head = next;
    }
    int *array = new int[10];
    array[9] = 1000;
    *result += array[9];
    delete[] array;
}

int main() {
    int *result = zeros<int>(1);
    build<<<1, 1>>>(100);
    CALL(cudaDeviceSynchronize());
    sum<<<1, 1>>>(result);
    CALL(cudaDeviceSynchronize());
    SHOW(at(result));
    return 0;
}
