import { spawnSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../../../../../../tests/harness/processes.ts'

it('finds what the program that started the runtime left open, and nothing that Node opened', () => {
  const module = join(root, 'apps/runtime/src/services/engines/function/descriptors.ts')
  const script = `import { openSync } from 'node:fs'
    import { createServer } from 'node:net'
    const { inheritableDescriptors } = await import(${JSON.stringify(module)})
    openSync('/etc/hostname'); createServer().listen(0, '127.0.0.1')
    console.log(JSON.stringify(inheritableDescriptors())); process.exit()`
  const left = openSync('/etc/hostname', 'r')
  const run = (descriptor?: number): number[] => {
    const stdio = Array<'ignore' | 'pipe' | 'inherit' | number>(100).fill('ignore')
    stdio.splice(1, 2, 'pipe', 'inherit')
    if (descriptor !== undefined) stdio[99] = descriptor
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { stdio })
    return JSON.parse(stdout.toString())
  }
  const before = run()
  expect(run(left).filter((each) => !before.includes(each))).toEqual([99])
  closeSync(left)
})
