/*
 * The recorder's file descriptors. See descriptors.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include "descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

/* Descriptors of ours lie this far below the limit, at most where programs that close them one by one mostly end. */
#define FDS_OF_OURS 32
#define FDS_USUAL   1024

static bool shared;

void descriptors_share(void) { shared = true; }

bool descriptors_are_shared(void) { return shared; }

int descriptors_move(int fd)
{
    struct rlimit limit;
    int moved;

    if (!shared || fd < 0 || getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < 2 * FDS_OF_OURS) {
        return fd;
    }
    moved = fcntl(fd, F_DUPFD_CLOEXEC, (int)(limit.rlim_cur < FDS_USUAL ? limit.rlim_cur : FDS_USUAL) - FDS_OF_OURS);
    if (moved < 0) {
        return fd;
    }
    close(fd);
    return moved;
}
