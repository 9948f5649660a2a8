/** `node:os` of a function: constants in place of what would show its device. */
import { nodeModule } from './sockets/node.ts'

const nobody = 65_534
const home = '/tmp'
const bytes = 128 * 1024 * 1024

export function createMachine(): object {
  const user = { uid: nobody, gid: nobody, username: 'nobody', homedir: home, shell: null }
  const processor = { model: 'function', speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } }
  return {
    ...nodeModule<object>('node:os'),
    availableParallelism: () => 1,
    cpus: () => [structuredClone(processor)],
    freemem: () => bytes / 2,
    getPriority: () => 0,
    homedir: () => home,
    hostname: () => 'function',
    loadavg: () => [0, 0, 0],
    networkInterfaces: () => ({}),
    release: () => '0.0.0',
    tmpdir: () => home,
    totalmem: () => bytes,
    uptime: () => Math.floor(performance.now() / 1000),
    userInfo: () => ({ ...user }),
    version: () => 'function',
  }
}
