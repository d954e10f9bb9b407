// Interoperation with OpenGL, EGL and VDPAU in a process that uses none of them. The functions are declared as their headers do, which
// want headers of the other interfaces.
#include "show.h"

typedef unsigned int GLuint, GLenum, VdpDevice, VdpSurface;
typedef void *EGLObject;
typedef int GetProcAddress(VdpDevice device, unsigned int function, void **address);
typedef struct CUeglStreamConnection_st *Connection;

struct PlaneOfFrame {
    unsigned int width, height, depth, pitch, numChannels;
    cudaChannelFormatDesc channelDesc;
    unsigned int reserved[4];
};

struct Frame {
    union {
        cudaArray_t pArray[3];
        cudaPitchedPtr pPitch[3];
    } frame;
    PlaneOfFrame planeDesc[3];
    unsigned int planeCount;
    int frameType, eglColorFormat;
};

extern "C" {
cudaError_t cudaGLGetDevices(unsigned int *count, int *devices, unsigned int room, int list);
cudaError_t cudaGraphicsGLRegisterImage(cudaGraphicsResource **resource, GLuint image, GLenum target, unsigned int flags);
cudaError_t cudaGraphicsGLRegisterBuffer(cudaGraphicsResource **resource, GLuint buffer, unsigned int flags);
cudaError_t cudaGLSetGLDevice(int device);
cudaError_t cudaGLRegisterBufferObject(GLuint buffer);
cudaError_t cudaGLMapBufferObject(void **address, GLuint buffer);
cudaError_t cudaGLUnmapBufferObject(GLuint buffer);
cudaError_t cudaGLUnregisterBufferObject(GLuint buffer);
cudaError_t cudaGLSetBufferObjectMapFlags(GLuint buffer, unsigned int flags);
cudaError_t cudaGLMapBufferObjectAsync(void **address, GLuint buffer, cudaStream_t stream);
cudaError_t cudaGLUnmapBufferObjectAsync(GLuint buffer, cudaStream_t stream);
cudaError_t cudaVDPAUGetDevice(int *device, VdpDevice vdpDevice, GetProcAddress *getProcAddress);
cudaError_t cudaVDPAUSetVDPAUDevice(int device, VdpDevice vdpDevice, GetProcAddress *getProcAddress);
cudaError_t cudaGraphicsVDPAURegisterVideoSurface(cudaGraphicsResource **resource, VdpSurface surface, unsigned int flags);
cudaError_t cudaGraphicsVDPAURegisterOutputSurface(cudaGraphicsResource **resource, VdpSurface surface, unsigned int flags);
cudaError_t cudaGraphicsEGLRegisterImage(cudaGraphicsResource **resource, EGLObject image, unsigned int flags);
cudaError_t cudaEGLStreamConsumerConnect(Connection *connection, EGLObject stream);
cudaError_t cudaEGLStreamConsumerConnectWithFlags(Connection *connection, EGLObject stream, unsigned int flags);
cudaError_t cudaEGLStreamConsumerDisconnect(Connection *connection);
cudaError_t cudaEGLStreamConsumerAcquireFrame(Connection *connection, cudaGraphicsResource_t *resource, cudaStream_t *stream,
                                              unsigned int timeout);
cudaError_t cudaEGLStreamConsumerReleaseFrame(Connection *connection, cudaGraphicsResource_t resource, cudaStream_t *stream);
cudaError_t cudaEGLStreamProducerConnect(Connection *connection, EGLObject stream, int width, int height);
cudaError_t cudaEGLStreamProducerDisconnect(Connection *connection);
cudaError_t cudaEGLStreamProducerPresentFrame(Connection *connection, Frame frame, cudaStream_t *stream);
cudaError_t cudaEGLStreamProducerReturnFrame(Connection *connection, Frame *frame, cudaStream_t *stream);
cudaError_t cudaGraphicsResourceGetMappedEglFrame(Frame *frame, cudaGraphicsResource_t resource, unsigned int index,
                                                  unsigned int level);
cudaError_t cudaEventCreateFromEGLSync(cudaEvent_t *event, EGLObject sync, unsigned int flags);
}

static int no_function(VdpDevice, unsigned int, void **address) {
    *address = nullptr;
    return 1;
}

// Each with its last error, as a call may fail without one.
#define ASK(...)      \
    do {              \
        CALL(__VA_ARGS__); \
        LAST();       \
    } while (0)

static unsigned only = 0, number = 0;
#define PART(...)                                  \
    do {                                           \
        if (only == 0 || only == ++number) ASK(__VA_ARGS__); \
    } while (0)

int main(int count, char **words) {
    cudaGraphicsResource *resource = nullptr;
    cudaStream_t stream = nullptr;
    cudaEvent_t event = nullptr;
    Connection connection = nullptr;
    Frame frame = {};
    unsigned int devices = 0;
    int device = 0;
    void *address = nullptr;
    if (count > 1) only = atoi(words[1]);
    PART(cudaGLGetDevices(&devices, &device, 1, 1));
    PART(cudaGLGetDevices(nullptr, &device, 1, 1));
    PART(cudaGLGetDevices(&devices, nullptr, 0, 1));
    PART(cudaGLGetDevices(&devices, &device, 1, 9));
    PART(cudaGraphicsGLRegisterImage(&resource, 1, 0x0DE1, 0));
    PART(cudaGraphicsGLRegisterImage(nullptr, 1, 0x0DE1, 0));
    PART(cudaGraphicsGLRegisterImage(&resource, 1, 0, 0xff));
    PART(cudaGraphicsGLRegisterBuffer(&resource, 1, 0));
    PART(cudaGraphicsGLRegisterBuffer(nullptr, 1, 0));
    PART(cudaGraphicsGLRegisterBuffer(&resource, 1, 0xff));
    PART(cudaGLSetGLDevice(0));
    PART(cudaGLSetGLDevice(99));
    PART(cudaGLRegisterBufferObject(1));
    PART(cudaGLMapBufferObject(&address, 1));
    PART(cudaGLMapBufferObject(nullptr, 1));
    PART(cudaGLUnmapBufferObject(1));
    PART(cudaGLUnregisterBufferObject(1));
    PART(cudaGLSetBufferObjectMapFlags(1, 0));
    PART(cudaGLMapBufferObjectAsync(&address, 1, nullptr));
    PART(cudaGLMapBufferObjectAsync(nullptr, 1, nullptr));
    PART(cudaGLUnmapBufferObjectAsync(1, nullptr));
    PART(cudaVDPAUGetDevice(&device, 1, no_function));
    PART(cudaVDPAUGetDevice(nullptr, 1, no_function));
    PART(cudaVDPAUGetDevice(&device, 1, nullptr));
    PART(cudaVDPAUSetVDPAUDevice(0, 1, no_function));
    PART(cudaVDPAUSetVDPAUDevice(99, 1, no_function));
    PART(cudaVDPAUSetVDPAUDevice(0, 1, nullptr));
    PART(cudaGraphicsVDPAURegisterVideoSurface(&resource, 1, 0));
    PART(cudaGraphicsVDPAURegisterVideoSurface(nullptr, 1, 0));
    PART(cudaGraphicsVDPAURegisterOutputSurface(&resource, 1, 0));
    PART(cudaGraphicsVDPAURegisterOutputSurface(nullptr, 1, 0));
    PART(cudaGraphicsEGLRegisterImage(&resource, &frame, 0));
    PART(cudaGraphicsEGLRegisterImage(nullptr, &frame, 0));
    PART(cudaGraphicsEGLRegisterImage(&resource, nullptr, 0));
    PART(cudaEGLStreamConsumerConnect(&connection, nullptr));
    PART(cudaEGLStreamConsumerConnect(nullptr, nullptr));
    PART(cudaEGLStreamConsumerConnectWithFlags(&connection, nullptr, 0));
    PART(cudaEGLStreamConsumerConnectWithFlags(nullptr, nullptr, 0));
    PART(cudaEGLStreamConsumerDisconnect(&connection));
    PART(cudaEGLStreamConsumerDisconnect(nullptr));
    PART(cudaEGLStreamConsumerAcquireFrame(&connection, &resource, &stream, 0));
    PART(cudaEGLStreamConsumerAcquireFrame(nullptr, &resource, &stream, 0));
    PART(cudaEGLStreamConsumerReleaseFrame(&connection, nullptr, &stream));
    PART(cudaEGLStreamConsumerReleaseFrame(nullptr, nullptr, &stream));
    PART(cudaEGLStreamProducerConnect(&connection, nullptr, 16, 16));
    PART(cudaEGLStreamProducerConnect(nullptr, nullptr, 16, 16));
    PART(cudaEGLStreamProducerDisconnect(&connection));
    PART(cudaEGLStreamProducerDisconnect(nullptr));
    PART(cudaEGLStreamProducerPresentFrame(&connection, frame, &stream));
    PART(cudaEGLStreamProducerPresentFrame(nullptr, frame, &stream));
    PART(cudaEGLStreamProducerReturnFrame(&connection, &frame, &stream));
    PART(cudaEGLStreamProducerReturnFrame(nullptr, &frame, &stream));
    PART(cudaGraphicsResourceGetMappedEglFrame(&frame, nullptr, 0, 0));
    PART(cudaGraphicsResourceGetMappedEglFrame(nullptr, nullptr, 0, 0));
    PART(cudaEventCreateFromEGLSync(&event, nullptr, 0));
    PART(cudaEventCreateFromEGLSync(nullptr, nullptr, 0));
    return 0;
}
