/** What a machine without control groups lacks, and the option of the kernel or the unit that ends it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { cgroupHint } from './cgroup-hint.ts'

it.each([
  ['version 1', undefined, 'systemd.unified_cgroup_hierarchy=1'],
  ['no memory controller, as on a Raspberry Pi', 'cpuset cpu io pids\n', 'cgroup_enable=memory'],
  ['groups that were not delegated', 'cpu memory pids\n', 'Delegate=cpu memory pids'],
])('with %s', (_, controllers, needed) => {
  const root = mkdtempSync(join(tmpdir(), 'selvedge-cgroup-'))
  if (controllers !== undefined) writeFileSync(join(root, 'cgroup.controllers'), controllers)
  expect(cgroupHint(root)).toContain(needed)
  rmSync(root, { recursive: true })
})
