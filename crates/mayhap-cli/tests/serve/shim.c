/* Slows syncs down and notes what they made safe: preloaded into the server by tests.
 *
 * SHIM_SLOW names a file with milliseconds to wait before each sync, looked at each time.
 * SHIM_LOG names a file that gets a line `inode size` for each file that was synced, with its size
 * before the sync, and `inode 0` for each that was made or emptied. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void note(const struct stat *file, long long size)
{
    const char *path = getenv("SHIM_LOG");
    if (!path || !S_ISREG(file->st_mode))
        return;
    int log = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (log < 0)
        abort();
    dprintf(log, "%llu %lld\n", (unsigned long long)file->st_ino, size);
    syscall(SYS_close, log);
}

static void wait_as_told(void)
{
    const char *path = getenv("SHIM_SLOW");
    char text[16] = {0};
    int slow = path ? syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC) : -1;
    if (slow < 0)
        return;
    syscall(SYS_read, slow, text, sizeof text - 1);
    syscall(SYS_close, slow);
    long millis = atol(text);
    struct timespec left = {millis / 1000, millis % 1000 * 1000000};
    while (nanosleep(&left, &left) && errno == EINTR)
        ;
}

static int sync_file(int fd, const char *name)
{
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    struct stat before;
    if (fstat(fd, &before))
        return -1;
    wait_as_told();
    int result = real(fd);
    int error = errno;
    if (!result)
        note(&before, before.st_size);
    errno = error;
    return result;
}

int fsync(int fd) { return sync_file(fd, "fsync"); }
int fdatasync(int fd) { return sync_file(fd, "fdatasync"); }

static int open_file(const char *path, int flags, mode_t mode)
{
    int fd = syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    struct stat file;
    if (fd >= 0 && flags & (O_CREAT | O_TRUNC) && !fstat(fd, &file) && !file.st_size)
        note(&file, 0);
    return fd;
}

#define OPEN(name)                                             \
    int name(const char *path, int flags, ...)                 \
    {                                                          \
        va_list rest;                                          \
        va_start(rest, flags);                                 \
        mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0; \
        va_end(rest);                                          \
        return open_file(path, flags, mode);                   \
    }
OPEN(open)
OPEN(open64)
