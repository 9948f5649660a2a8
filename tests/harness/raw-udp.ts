/** Sends UDP packets with any source address and port, as a hostile host of the local network can. Needs root and Perl. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

export interface RawPacket {
  /** IPv4 address that the packet claims to come from. */
  readonly source: string
  readonly sourcePort?: number
  /** IPv4 address; the group of multicast DNS by default. */
  readonly target?: string
  readonly payload: Buffer
}

export interface Pace {
  /** Packets a second; as many as the machine can send by default. */
  readonly perSecond?: number
  /** How often the whole list is sent; 1 by default. */
  readonly rounds?: number
}

/** Reads frames (source, target, source port, length, payload) and sends each as one IP packet. */
const script = `
use strict; use Socket;
my ($own, $pause, $rounds) = @ARGV;
my @packets; binmode STDIN;
while (read(STDIN, my $head, 12) == 12) {
  my ($source, $target, $port, $length) = unpack('a4 a4 n n', $head);
  my $payload = ''; read(STDIN, $payload, $length) if $length;
  my $udp = pack('n n n n', $port, 5353, 8 + $length, 0) . $payload;
  my $ip = pack('C C n n n C C n a4 a4', 0x45, 0, 20 + length($udp), 0, 0, 255, 17, 0, $source, $target);
  push @packets, [$ip . $udp, pack_sockaddr_in(0, $target)];
}
socket(my $socket, PF_INET, SOCK_RAW, 255) or die "socket: $!";
setsockopt($socket, 0, 32, inet_aton($own)) or die "interface: $!";
for (1 .. $rounds) {
  for (@packets) {
    send($socket, $_->[0], 0, $_->[1]) or die "send: $!";
    select(undef, undef, undef, $pause) if $pause > 0;
  }
}
`

/**
 * @param space network namespace of the sender
 * @param own IPv4 address of the interface to send from
 * @returns the process; {@link sent} waits for it
 */
export function sendRaw(
  space: string,
  own: string,
  packets: readonly RawPacket[],
  { perSecond = 0, rounds = 1 }: Pace = {},
): ChildProcess {
  const pause = perSecond === 0 ? 0 : 1 / perSecond
  const args = ['netns', 'exec', space, 'perl', '-e', script, own, String(pause), String(rounds)]
  const child = spawn('ip', args, {
    stdio: ['pipe', 'ignore', 'inherit'],
    env: { PATH: `${process.env.PATH}:/usr/sbin:/sbin` },
  })
  child.stdin!.end(Buffer.concat(packets.map(frame)))
  return child
}

/** Sends the packets and resolves when the last one has left. @throws Error if one cannot be sent */
export async function sent(...args: Parameters<typeof sendRaw>): Promise<void> {
  const [code] = (await once(sendRaw(...args), 'exit')) as [number]
  if (code !== 0) throw new Error(`the sender ended with code ${code}`)
}

function frame({ source, sourcePort = 5353, target = '224.0.0.251', payload }: RawPacket): Buffer {
  const head = Buffer.alloc(12)
  head.set(source.split('.').map(Number), 0)
  head.set(target.split('.').map(Number), 4)
  head.writeUInt16BE(sourcePort, 8)
  head.writeUInt16BE(payload.length, 10)
  return Buffer.concat([head, payload])
}
