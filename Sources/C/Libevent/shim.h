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
#include <sys/ioctl.h>
#include <linux/sockios.h>
#include <arpa/inet.h>
#include <netdb.h>
#include <unistd.h>
#include <errno.h>
#include <signal.h>

// What Glibc declares for _GNU_SOURCE only, which Swift's module does not define.
extern int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
struct netproxy_ucred { int pid; unsigned int uid; unsigned int gid; };

// What TCP knows of the data that was sent; ioctl takes a variable list, which Swift cannot call.
struct netproxy_flight { int queued; unsigned int unacknowledged; unsigned int probes; unsigned int silence_ms; };
static inline int netproxy_read_flight(int fd, struct netproxy_flight *flight) {
    struct tcp_info info = { 0 };
    socklen_t length = sizeof info;
    if (ioctl(fd, SIOCOUTQ, &flight->queued) != 0) return -1;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return -1;
    flight->unacknowledged = info.tcpi_unacked;
    flight->probes = info.tcpi_probes;
    flight->silence_ms = info.tcpi_last_ack_recv;
    return 0;
}
