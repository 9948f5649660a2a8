/** A state folder belongs to its machine: copies of one disk are different nodes, and a person may take a node over. */
import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createRuntimeClient } from '@selvedge/client'
import { createNodeFetch } from '@selvedge/client/node'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { cliEnvOf, runCli } from '../../harness/cli.ts'
import { freePorts, type Program, startProgram, temporaryFolder } from '../../harness/processes.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
const running: Program[] = []

beforeEach(async () => {
  folder = await temporaryFolder()
  for (const machine of ['1', '2', '3']) await writeFile(idOf(machine), `${machine.repeat(32)}\n`)
})

afterEach(async () => {
  await Promise.all(running.splice(0).map((each) => each.stop()))
  await folder.remove()
})

const idOf = (machine: string) => join(folder.path, `machine-id-${machine}`)

/** The environment of the command line for the first card. */
const onCard = () => cliEnvOf({ state: join(folder.path, 'card') })

/** Starts the runtime of a state folder on one of the machines. */
async function startOn(machine: string, state: string) {
  const program = await startProgram(
    'runtime',
    { SELVEDGE_STATE: join(folder.path, state), SELVEDGE_IDENTITY_URL: 'http://127.0.0.1:9', ...freePorts },
    [],
    { replaced: { '/etc/machine-id': idOf(machine) } },
  )
  running.push(program)
  const { nodeId, notices } = await createRuntimeClient({
    url: program.url,
    fetch: createNodeFetch(),
  }).getMe()
  return { nodeId, notices: notices.map(({ reason }) => reason), stop: program.stop }
}

it('makes different nodes of copies of a disk, and the same node of a restart', async () => {
  const first = await startOn('1', 'card')
  await first.stop()
  for (const copy of ['copy-2', 'copy-3'])
    await cp(join(folder.path, 'card'), join(folder.path, copy), { recursive: true })
  const copies = [await startOn('2', 'copy-2'), await startOn('3', 'copy-3')]
  expect(new Set([first, ...copies].map(({ nodeId }) => nodeId)).size).toBe(3)
  for (const copy of copies) expect(copy.notices).toContain('other_machine')
  const again = await startOn('1', 'card')
  expect(again.nodeId).toBe(first.nodeId)
  expect(again.notices).not.toContain('other_machine')
})

it('is the node of before after "device adopt", as with a new board', async () => {
  const before = await startOn('1', 'card')
  await before.stop()
  const other = await startOn('2', 'card')
  expect(await runCli(['device', 'adopt'], onCard())).toMatchObject({ code: 0 })
  await other.stop()
  const adopted = await startOn('2', 'card')
  expect(adopted.nodeId).toBe(before.nodeId)
  expect(adopted.notices).not.toContain('other_machine')
})

it('makes a new node after "device prepare-image", on every copy', async () => {
  const before = await startOn('1', 'card')
  const prepare = ['device', 'prepare-image', '--yes']
  expect(await runCli(prepare, onCard())).toMatchObject({
    code: 2,
    errors: expect.stringContaining('the runtime runs'),
  })
  await before.stop()
  expect(await runCli(prepare, onCard())).toMatchObject({ code: 0 })
  const after = await startOn('1', 'card')
  expect(after.nodeId).not.toBe(before.nodeId)
})
