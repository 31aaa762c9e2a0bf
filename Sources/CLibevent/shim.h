#pragma once
// <sys/select.h> first: libevent pulls in fd_set, which otherwise clashes with the one of Glibc.
#include <sys/select.h>
#include <event2/event.h>
#include <event2/util.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <arpa/inet.h>
#include <netdb.h>
#include <unistd.h>
#include <errno.h>
#include <signal.h>

// What Glibc declares for _GNU_SOURCE only, which Swift's module does not define.
extern int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
struct netproxy_ucred { int pid; unsigned int uid; unsigned int gid; };
