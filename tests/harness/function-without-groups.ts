/**
 * A program for tests/system/services/control-groups.test.ts, in a mount namespace of its own: control groups that are there and fail,
 * and one function that is to start nevertheless. Prints the result as JSON.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { readSettings } from '@selvedge/protocol'
import type { Plan } from '../../apps/runtime/src/services/engines/engine.ts'
import { findDeno } from '../../apps/runtime/src/services/engines/function/find-deno.ts'
import { createFunctionEngine } from '../../apps/runtime/src/services/engines/function/function-engine.ts'
import { hostSystem } from '../../apps/runtime/src/services/engines/function/host-system.ts'
import { startInstance } from '../../apps/runtime/src/services/engines/function/instance.ts'
import { openBlobs } from '../../apps/runtime/src/services/images/blobs.ts'
import { admitImage } from './admit-image.ts'
import { functionImage } from './archives.ts'
import { idleHost } from './host.ts'

const [failure = '', state = '', program = ''] = process.argv.slice(2)
const root = '/sys/fs/cgroup'
const mount = (...args: string[]) => execFileSync('mount', args)

/** Folders in the memory that look like control groups of version 1, with room for so many files. */
function mountGroups(files: number): void {
  mount('-t', 'tmpfs', '-o', `nr_inodes=${files}`, 'groups', root)
  for (const each of ['memory', 'cpu', 'pids']) mkdirSync(join(root, each))
}

const blobs = await openBlobs(join(state, 'images'))
const archive = (async function* () {
  yield functionImage('export default { fetch: () => new Response("up") }')
})()
const content = await admitImage(blobs, archive)
const plan: Plan = {
  id: 'client-service',
  key: 'account/client/service',
  dataKey: 'account/client/service',
  asking: { accountId: 'account', clientId: 'client', name: 'service', image: 'image', digest: 'sha256:00' },
  revision: 1,
  content,
  env: {},
  settings: readSettings({}),
  info: { httpPort: 1, nodeId: 'n', apiRoot: 'http://127.0.0.1:1', serviceType: 'client-service' },
  host: idleHost,
  log: () => undefined,
}
const engine = createFunctionEngine({ state, program, blobs })

async function start() {
  if (failure === 'cannot be joined') {
    const sandbox = await hostSystem.findSandbox(findDeno()!, program, 'selvedge-test')
    const group = { memory: () => 0, wasOutOfMemory: () => false, remove: async () => undefined }
    const cgroups = {
      ...sandbox.cgroups!,
      create: () => ({ ...group, joinFiles: ['/proc/none/cgroup.procs'] }),
    }
    await sandbox.cgroups?.close()
    return startInstance(plan, { ...sandbox, cgroups }, join(state, 'instance'), blobs)
  }
  if (failure === 'cannot be made') mountGroups(5)
  if (failure === 'take no limits') {
    mountGroups(200)
    await engine.describe()
    const used = execFileSync('df', ['--output=iused', root], { encoding: 'utf8' }).trim().split(/\s+/).at(-1)
    mount('-o', `remount,nr_inodes=${Number(used) + 4}`, root)
  }
  return engine.start(plan)
}

const outcome = await start().then(
  async (instance) => {
    await instance.stop(0)
    return { started: instance.isolation }
  },
  ({ reason, message }) => ({ reason, message }),
)
await engine.close(false)
process.stdout.write(JSON.stringify(outcome))
