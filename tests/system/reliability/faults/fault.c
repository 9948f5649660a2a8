/*
 * Lets the n-th system call on the files of a daemon fail: preloaded, between the program and the C library. A strace would do the same, but
 * counts the calls of each thread on its own and stops the program at every call; here one number counts for all threads.
 *
 * FAULT_CONTROL names a file of the form of struct control, shared with the test. FAULT_PROGRAM is what the command line of the daemon
 * contains: others that inherit the environment meet no faults. FAULT_UNDER is the folder whose files are meant.
 * The log, standard error, has a fault and a count of its own.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum kind { OFF, IO_ERROR, NO_SPACE, NO_DESCRIPTOR, SHORT_WRITE, SLOW_WRITE };
enum op { OPEN = 1, CREATE, READ, WRITE, SYNC, RENAME, UNLINK, MKDIR, TRUNCATE };

/* The calls from nth to nth + in_a_row - 1 fail; count and hits are those so far. */
struct fault {
  int kind;
  int nth;
  int in_a_row;
  int count;
  int hits;
};

struct control {
  struct fault state;
  struct fault log;
  int slow_ms;
  /* The first call of the state that failed, and its file. */
  int op;
  /* Whether the file of a sync that failed was synced since. */
  int healed;
  /* By kind: calls of the state that a fault of it could have hit, while one of any kind was armed. */
  int could_hit[SLOW_WRITE + 1];
  char path[948];
};

static struct control *control;
static char under[1024];
static size_t under_length;

static int is_program(const char *wanted) {
  char line[4096];
  int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  ssize_t length = fd < 0 ? -1 : read(fd, line, sizeof line);
  if (fd >= 0) close(fd);
  return length > 0 && memmem(line, (size_t)length, wanted, strlen(wanted)) != 0;
}

__attribute__((constructor)) static void begin(void) {
  const char *file = getenv("FAULT_CONTROL"), *folder = getenv("FAULT_UNDER");
  const char *program = getenv("FAULT_PROGRAM");
  if (!file || !folder || !program || !is_program(program)) return;
  int fd = open(file, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void *shared = mmap(0, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (shared == MAP_FAILED) return;
  under_length = (size_t)snprintf(under, sizeof under, "%s", folder);
  control = shared;
}

static int concerns(int kind, enum op op) {
  switch (kind) {
    case IO_ERROR: return 1;
    case NO_SPACE: return op == CREATE || op == WRITE || op == SYNC || op == RENAME || op == MKDIR || op == TRUNCATE;
    case NO_DESCRIPTOR: return op == OPEN || op == CREATE;
    case SHORT_WRITE: return op == WRITE;
    case SLOW_WRITE: return op == WRITE || op == SYNC;
    default: return 0;
  }
}

/* Counts a call. Gives the kind of fault that it gets, or OFF. */
static int count(struct fault *fault, enum op op, int *is_first) {
  int kind = fault->kind;
  if (!concerns(kind, op)) return OFF;
  int number = __atomic_add_fetch(&fault->count, 1, __ATOMIC_SEQ_CST);
  if (number < fault->nth || number - fault->nth >= fault->in_a_row) return OFF;
  *is_first = __atomic_fetch_add(&fault->hits, 1, __ATOMIC_SEQ_CST) == 0;
  return kind;
}

/* The kind of fault that this call gets, or OFF. */
static int fate(enum op op, const char *path) {
  if (!control) return OFF;
  int is_first = 0;
  if (strcmp(path, "stderr") == 0) return count(&control->log, op, &is_first);
  if (strncmp(path, under, under_length) != 0) return OFF;
  if (control->state.kind != OFF)
    for (int each = IO_ERROR; each <= SLOW_WRITE; each++)
      if (concerns(each, op)) __atomic_add_fetch(&control->could_hit[each], 1, __ATOMIC_SEQ_CST);
  int kind = count(&control->state, op, &is_first);
  if (is_first) {
    control->op = op;
    snprintf(control->path, sizeof control->path, "%s", path);
  }
  return kind;
}

static const char *path_of(int fd, char *room, size_t size) {
  if (fd == 2) return "stderr";
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, room, size - 1);
  room[length < 0 ? 0 : length] = 0;
  return room;
}

/* 0 where the call goes on; -1 with errno where it fails. A short write sets *shortened. */
static int meet(int kind, int *shortened) {
  switch (kind) {
    case IO_ERROR: errno = EIO; return -1;
    case NO_SPACE: errno = ENOSPC; return -1;
    case NO_DESCRIPTOR: errno = EMFILE; return -1;
    case SHORT_WRITE: if (shortened) *shortened = 1; return 0;
    case SLOW_WRITE: {
      struct timespec time = {control->slow_ms / 1000, (control->slow_ms % 1000) * 1000000L};
      nanosleep(&time, 0);
      return 0;
    }
    default: return 0;
  }
}

static int meet_fd(enum op op, int fd, int *shortened) {
  if (!control || (control->state.kind == OFF && control->log.kind == OFF)) return 0;
  char room[1024];
  return meet(fate(op, path_of(fd, room, sizeof room)), shortened);
}

static int meet_path(enum op op, const char *path) { return meet(fate(op, path), 0); }

#define NEXT(name) ({ static __typeof__(&name) next; if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name); next; })

#define OPENS(name, ...)                                                        \
  mode_t mode = 0;                                                              \
  if (flags & (O_CREAT | __O_TMPFILE)) {                                        \
    va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); \
  }                                                                             \
  if (meet_path(flags & O_CREAT ? CREATE : OPEN, path)) return -1;              \
  return NEXT(name)(__VA_ARGS__ path, flags, mode)

int open(const char *path, int flags, ...) { OPENS(open, ); }
int open64(const char *path, int flags, ...) { OPENS(open64, ); }
int openat(int at, const char *path, int flags, ...) { OPENS(openat, at,); }
int openat64(int at, const char *path, int flags, ...) { OPENS(openat64, at,); }

ssize_t read(int fd, void *to, size_t n) { return meet_fd(READ, fd, 0) ? -1 : NEXT(read)(fd, to, n); }
ssize_t pread(int fd, void *to, size_t n, off_t at) { return meet_fd(READ, fd, 0) ? -1 : NEXT(pread)(fd, to, n, at); }
ssize_t pread64(int fd, void *to, size_t n, off64_t at) { return meet_fd(READ, fd, 0) ? -1 : NEXT(pread64)(fd, to, n, at); }

#define WRITES(call)                              \
  int is_short = 0;                               \
  if (meet_fd(WRITE, fd, &is_short)) return -1;   \
  if (is_short && n > 1) n /= 2;                  \
  return call

ssize_t write(int fd, const void *from, size_t n) { WRITES(NEXT(write)(fd, from, n)); }
ssize_t pwrite(int fd, const void *from, size_t n, off_t at) { WRITES(NEXT(pwrite)(fd, from, n, at)); }
ssize_t pwrite64(int fd, const void *from, size_t n, off64_t at) { WRITES(NEXT(pwrite64)(fd, from, n, at)); }

/* A vector is cut short within its first part. */
#define WRITES_VECTOR(whole, part)                \
  int is_short = 0;                               \
  if (meet_fd(WRITE, fd, &is_short)) return -1;   \
  if (is_short && v->iov_len > 1) return part;    \
  return whole

ssize_t writev(int fd, const struct iovec *v, int n) {
  WRITES_VECTOR(NEXT(writev)(fd, v, n), NEXT(write)(fd, v->iov_base, v->iov_len / 2));
}
ssize_t pwritev(int fd, const struct iovec *v, int n, off_t at) {
  WRITES_VECTOR(NEXT(pwritev)(fd, v, n, at), NEXT(pwrite)(fd, v->iov_base, v->iov_len / 2, at));
}
ssize_t pwritev64(int fd, const struct iovec *v, int n, off64_t at) {
  WRITES_VECTOR(NEXT(pwritev64)(fd, v, n, at), NEXT(pwrite64)(fd, v->iov_base, v->iov_len / 2, at));
}

static int synced(int fd, int result) {
  if (result == 0 && control && control->state.hits > 0 && control->op == SYNC) {
    char room[1024];
    if (strcmp(path_of(fd, room, sizeof room), control->path) == 0) control->healed = 1;
  }
  return result;
}
int fsync(int fd) { return meet_fd(SYNC, fd, 0) ? -1 : synced(fd, NEXT(fsync)(fd)); }
int fdatasync(int fd) { return meet_fd(SYNC, fd, 0) ? -1 : synced(fd, NEXT(fdatasync)(fd)); }

int rename(const char *path, const char *to) { return meet_path(RENAME, path) ? -1 : NEXT(rename)(path, to); }
int link(const char *path, const char *to) { return meet_path(RENAME, path) ? -1 : NEXT(link)(path, to); }
int unlink(const char *path) { return meet_path(UNLINK, path) ? -1 : NEXT(unlink)(path); }
int mkdir(const char *path, mode_t mode) { return meet_path(MKDIR, path) ? -1 : NEXT(mkdir)(path, mode); }
int ftruncate(int fd, off_t length) { return meet_fd(TRUNCATE, fd, 0) ? -1 : NEXT(ftruncate)(fd, length); }
int ftruncate64(int fd, off64_t length) { return meet_fd(TRUNCATE, fd, 0) ? -1 : NEXT(ftruncate64)(fd, length); }
