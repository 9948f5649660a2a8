"""A slow and lossy cable: a TUN device in each of two network namespaces, and this program between them.

Arguments: namespaces of both ends, interface name, delay of one way in seconds, share of the packets that is lost. It prints "ready".
Each line on standard input has a new delay and share.
"""
import ctypes, fcntl, heapq, os, random, select, struct, sys, time

def tun(space, name):
    with open(f"/run/netns/{space}") as other:
        if ctypes.CDLL(None, use_errno=True).setns(other.fileno(), 0) != 0:
            raise OSError(ctypes.get_errno(), "setns")
    end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(end, 0x400454CA, struct.pack("16sH", name.encode(), 0x1001))
    return end

one, two, name, delay, lost = sys.argv[1:]
delay, lost = float(delay), float(lost)
ends = [tun(one, name), tun(two, name)]
print("ready", flush=True)
waiting, count = [], 0
while True:
    left = max(0, waiting[0][0] - time.monotonic()) if waiting else None
    for each in select.select([*ends, sys.stdin], [], [], left)[0]:
        if each is sys.stdin:
            line = sys.stdin.readline()
            if not line:
                sys.exit()
            delay, lost = map(float, line.split())
            continue
        packet = os.read(each, 65536)
        if random.random() < lost or len(waiting) > 10000:
            continue
        count += 1
        heapq.heappush(waiting, (time.monotonic() + delay, count, ends[1 - ends.index(each)], packet))
    while waiting and waiting[0][0] <= time.monotonic():
        _, _, to, packet = heapq.heappop(waiting)
        try:
            os.write(to, packet)
        except OSError:
            pass
