import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { command } from '../../command.ts'
import { UsageError } from '../../failure.ts'
import { changing, deviceState, listAside, type SetAside } from './state.ts'

/** Name of the file that the runtime finds at its start (`own-machine.ts`). */
const mark = 'adopt'

export const deviceAdopt = command({
  path: ['device', 'adopt'],
  summary:
    'Be the node of a state that was set aside, as after a new board, from the next start of the runtime.',
  args: [{ name: '[id]', description: 'name of its folder in <state>/set-aside; default: the only one' }],
  options: [{ flags: '--cancel', description: 'remove the mark again' }],
  notes: [
    'The state of a device belongs to its machine: on another one it is set aside, so that a copied disk is not the same node twice.',
    'Adopt only what runs nowhere else.',
  ],
  run: async (context, { args: [id], options }) => {
    const state = deviceState(context)
    const all = changing(state, () => listAside(state))
    if (options.cancel === true) {
      for (const { path } of all) changing(path, () => rmSync(join(path, mark), { force: true }))
      return { adopts: null, next: null }
    }
    const chosen = choose(all, id, state)
    // The runtime adopts nothing if two are marked.
    for (const { path } of all) changing(path, () => rmSync(join(path, mark), { force: true }))
    changing(chosen.path, () => writeFileSync(join(chosen.path, mark), '', { mode: 0o600 }))
    return { adopts: chosen.path, next: 'sudo systemctl restart selvedge' }
  },
  human: ({ adopts, next }) =>
    adopts === null
      ? 'nothing is adopted at the next start'
      : `adopts     ${adopts}\nnext       restart the runtime: ${next}`,
})

/** @throws UsageError */
function choose(all: readonly SetAside[], id: string | undefined, state: string): SetAside {
  const named = id === undefined ? all : all.filter((each) => each.id === id)
  if (named.length === 1) return named[0]!
  if (all.length === 0)
    throw new UsageError(
      `no state was set aside in ${state}`,
      'There is something to adopt only after a start on another machine: see the notices of selvedge status.',
    )
  throw new UsageError(
    id === undefined
      ? `${all.length} states were set aside`
      : `there is no state ${id} in ${state}/set-aside`,
    `Name one: ${all.map((each) => `${each.id} (${each.at})`).join(', ')}`,
  )
}
