/** Names of the interfaces that a component may import; `host/interfaces.ts` has them. */
const names = {
  cli: 'environment exit stdin stdout stderr terminal-input terminal-output terminal-stdin terminal-stdout terminal-stderr',
  clocks: 'monotonic-clock wall-clock',
  filesystem: 'preopens types',
  http: 'types outgoing-handler',
  io: 'error poll streams',
  keyvalue: 'store atomics batch',
  random: 'random insecure insecure-seed',
  sockets: 'network instance-network tcp tcp-create-socket udp udp-create-socket ip-name-lookup',
}

export const importable: ReadonlySet<string> = new Set(
  Object.entries(names).flatMap(([of, each]) => each.split(' ').map((name) => `wasi:${of}/${name}`)),
)
