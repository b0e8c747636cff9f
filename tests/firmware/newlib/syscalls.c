/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What newlib asks of a system: memory, output, and answers about files that are not there. */
#include <errno.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "gx.h"

/* What newlib calls them; its headers do not declare them. */
int _close(int file);
int _fstat(int file, struct stat *about);
int _getpid(void);
int _isatty(int file);
int _kill(int process, int signal);
off_t _lseek(int file, off_t offset, int from);
int _read(int file, char *to, int size_bytes);
void *_sbrk(ptrdiff_t size_bytes);
int _write(int file, const char *from, int size_bytes);

extern char end[], __stack_top[];

#define STACK_BYTES 16384

void *_sbrk(ptrdiff_t size_bytes)
{
    static char *top = end;
    char *before = top;

    if ((uintptr_t)top + (uintptr_t)size_bytes > (uintptr_t)__stack_top - STACK_BYTES) {
        errno = ENOMEM;
        return (void *)-1;
    }
    top += size_bytes;
    return before;
}

int _write(int file, const char *from, int size_bytes)
{
    char text[2] = "";

    (void)file;
    for (int i = 0; i < size_bytes; i++) {
        text[0] = from[i];
        gx_write(text);
    }
    return size_bytes;
}

int _read(int file, char *to, int size_bytes)
{
    (void)file;
    (void)to;
    (void)size_bytes;
    return 0;
}

int _fstat(int file, struct stat *about)
{
    (void)file;
    about->st_mode = S_IFCHR;
    return 0;
}

int _isatty(int file)
{
    return file < 3;
}

off_t _lseek(int file, off_t offset, int from)
{
    (void)file;
    (void)offset;
    (void)from;
    return 0;
}

int _close(int file)
{
    (void)file;
    return -1;
}

int _getpid(void)
{
    return 1;
}

int _kill(int process, int signal)
{
    (void)process;
    gx_exit(128 + signal);
}

void _exit(int status)
{
    gx_exit(status);
}

void gx_timer_tick(void)
{
}
