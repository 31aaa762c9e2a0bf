#pragma once
// <sys/select.h> first: libevent pulls in fd_set, which otherwise clashes with the one of Glibc.
#include <sys/select.h>
#include <event2/event.h>
#include <event2/util.h>
