/* For LD_PRELOAD: what a system clock that is set back by STEPBACK seconds does to waits until a time of CLOCK_REALTIME
   (pthread_cond_timedwait) that are under way: each thread's first wait after the first byte of the file STEPFILE has
   become 1 lasts that much longer. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef int (*timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
static timedwait original;
static volatile char *stepped;
static double back;
static __thread int done;

__attribute__((constructor)) static void begin(void)
{
  original = (timedwait)dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
  const char *path = getenv("STEPFILE"), *seconds = getenv("STEPBACK");
  int file = path && seconds ? open(path, O_RDONLY) : -1;
  if (file < 0)
    return;
  back = atof(seconds);
  void *memory = mmap(0, 1, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (memory != MAP_FAILED)
    stepped = memory;
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until)
{
  struct timespec later = *until;
  if (stepped && *stepped == 0)
    done = 0;
  if (stepped && *stepped == 1 && !done) {
    done = 1;
    later.tv_sec += (time_t)back;
  }
  return original(condition, mutex, &later);
}
