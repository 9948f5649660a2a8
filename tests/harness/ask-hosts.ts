/** Lines of shell scripts in which a container of busybox requests the pages of hosts. */

export const busybox = '/bin/busybox'

/** Requests the page of a host, and writes what came and how that exited. */
export const ask = (host: string, port: number | string): string =>
  `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | ${busybox} timeout 4 ${busybox} nc -w 3 ${host} ${port} 2>&1; echo "exit code $?";`

/** The same for several at once, each written as a whole: together they need only the seconds of one that is not answered. */
export const askAll = (...all: readonly (readonly [host: string, port: number | string])[]): string =>
  [
    ...all.map(([host, port], at) => `{ ${ask(host, port)} } > /tmp/asked-${at} &`),
    'wait',
    `${busybox} cat ${all.map((_, at) => `/tmp/asked-${at}`).join(' ')}`,
  ].join('\n')
