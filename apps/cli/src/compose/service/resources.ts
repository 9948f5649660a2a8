/** Keys about limits: memory, processors, processes, logs, and the section `deploy`. */
import { openFiles } from '@selvedge/protocol'
import {
  type At,
  bytesOf,
  flagOf,
  matchOf,
  membersOf,
  mibOf,
  note,
  problem,
  secondsOf,
  textOf,
  wholeOf,
} from '../at.ts'
import { shown } from '../report.ts'
import { isNull } from '../tree.ts'
import { type Draft, ignored, type Keys, readKeys, refused, setSetting, used } from './draft.ts'
import { onlyOne } from './program.ts'

function setMemory(draft: Draft, at: At): void {
  const mib = mibOf(at)
  if (mib !== undefined && mib > 0) setSetting(draft, 'MCM.MEMORY_MB', String(mib), at)
}

function setCpus(draft: Draft, at: At): void {
  const text = matchOf(at, /^\d{1,3}(?:\.\d{1,9})?$/, 'a number of processors such as 0.5')
  if (text !== undefined && Number(text) > 0)
    setSetting(draft, 'MCM.CPU', String(Number(Number(text).toFixed(3))), at)
}

function setPids(draft: Draft, at: At): void {
  const text = matchOf(at, /^(?:-1|\d{1,9})$/, 'a number of processes')
  if (text === undefined) return
  if (Number(text) > 0) setSetting(draft, 'MCM.PIDS', text, at)
  else note(at, 'The number of processes is always limited: the default is used.')
}

const hint = 'Devices do not schedule by it: containers share what is free.'

const limitKeys: Keys = {
  memory: used('`MCM.MEMORY_MB`', setMemory),
  cpus: used('`MCM.CPU`', setCpus),
  pids: used('`MCM.PIDS`', setPids),
}

const resourceKeys: Keys = {
  limits: used('the limits in it', (draft, at, scope) => readKeys(draft, at, limitKeys, scope)),
  reservations: used('nothing; `devices` in it is refused', (_, at) => {
    for (const member of membersOf(at)) {
      if (member.name === 'devices' || member.name === 'generic_resources')
        problem(
          member,
          'Devices are not reserved. Name them in "devices" of the service; "gpu" in MCM.DEVICES is for /dev/dri.',
        )
      else note(member, hint)
    }
  }),
}

const restartKeys: Keys = {
  condition: used('as `restart`', (draft, at) => {
    const text = matchOf(at, /^(?:none|on-failure|any)$/, '`none`, `on-failure` or `any`')
    if (text !== undefined) draft.restart = text === 'any' ? 'always' : text === 'none' ? 'no' : 'on-failure'
  }),
  max_attempts: used('as the number of `restart: on-failure`', (draft, at) => {
    draft.maxRestarts = wholeOf(at, 1, 1000) ?? null
  }),
  delay: ignored('The runtime waits longer after each failure.'),
  window: ignored('The runtime counts failures on its own.'),
}

const deployKeys: Keys = {
  resources: used('the limits in it', (draft, at, scope) => readKeys(draft, at, resourceKeys, scope)),
  restart_policy: used('as `restart`', (draft, at, scope) => readKeys(draft, at, restartKeys, scope)),
  replicas: used('nothing for 1; more are refused', (_, at) => onlyOne(at)),
  mode: used('nothing for `replicated`; others are refused', (_, at) => {
    const text = textOf(at)
    if (text !== undefined && text !== 'replicated')
      problem(at, `${shown(text)} is not supported: an app is on one device. Remove it.`)
  }),
  labels: ignored('Labels of a swarm change nothing on one device.'),
  placement: ignored('An app is on one device.'),
  endpoint_mode: ignored('An app is on one device.'),
  update_config: ignored('A new version replaces the one before when the whole app is healthy.'),
  rollback_config: ignored('The version before runs again after a failure, always.'),
}

const logDrivers = ['json-file', 'local', 'journald']

const loggingKeys: Keys = {
  driver: used('nothing for `json-file`, `local` and `journald`', (_, at) => {
    const text = textOf(at)
    if (text === undefined) return
    if (logDrivers.includes(text)) note(at, 'The runtime stores the log, and limits its size.')
    else
      problem(
        at,
        `${shown(text)} is not supported: the runtime stores the log. Remove it, and read the log with "selvedge logs".`,
      )
  }),
  options: used('nothing for `max-size` and `max-file`', (_, at) => {
    for (const member of membersOf(at)) {
      if (['max-size', 'max-file', 'compress', 'mode', 'max-buffer-size', 'tag'].includes(member.name))
        note(member, 'The runtime limits the size of the log itself.')
      else problem(member, 'This option is not supported: the runtime stores the log. Remove it.')
    }
  }),
}

export const resourceTable: Keys = {
  mem_limit: used('`MCM.MEMORY_MB`', setMemory),
  cpus: used('`MCM.CPU`', setCpus),
  pids_limit: used('`MCM.PIDS`', setPids),
  ulimits: used('`MCM.NOFILE` for `nofile`; nothing for `nproc`; others are refused', readUlimits),
  shm_size: used('`MCM.SHM_MB`', (draft, at) => {
    const bytes = bytesOf(at)
    if (bytes !== undefined)
      setSetting(draft, 'MCM.SHM_MB', String(Math.max(1, Math.ceil(bytes / 2 ** 20))), at)
  }),
  deploy: used('limits, `restart_policy`, and `replicas: 1`', (draft, at, scope) =>
    readKeys(draft, at, deployKeys, scope),
  ),
  logging: used('nothing for drivers that store logs; other drivers are refused', (draft, at, scope) =>
    readKeys(draft, at, loggingKeys, scope),
  ),
  mem_reservation: ignored(hint),
  mem_swappiness: ignored('The device decides what it swaps.'),
  memswap_limit: ignored('The device decides what it swaps; "mem_limit" limits memory.'),
  cpu_shares: ignored(hint),
  cpu_count: ignored('It is for Windows; "cpus" limits processors.'),
  cpu_percent: ignored('It is for Windows; "cpus" limits processors.'),
  cpu_period: refused('Write the limit as "cpus": the quota divided by the period.'),
  cpu_quota: refused('Write the limit as "cpus": the quota divided by the period.'),
  cpu_rt_period: refused('Processes in real time are not supported. Remove it.'),
  cpu_rt_runtime: refused('Processes in real time are not supported. Remove it.'),
  cpuset: refused('Containers are not bound to processors yet. Write "cpus".'),
  blkio_config: refused('Limits of disks are not supported yet. Remove it.'),
  storage_opt: used('`MCM.ROOT_MB` for `size`', (draft, at) => {
    for (const member of membersOf(at)) {
      if (member.name !== 'size') problem(member, 'Only "size" is supported. Remove the other options.')
      else {
        const mib = mibOf(member)
        if (mib !== undefined) setSetting(draft, 'MCM.ROOT_MB', String(mib), member)
      }
    }
  }),
  healthcheck: used(
    '`MCM.HEALTH_CMD`; `MCM.HEALTH_SEC` is the time until the last failed attempt',
    readHealth,
  ),
}

/** Numbers of a limit: one, or a mapping with `soft` and `hard`. -1 is no limit. */
function limitOf(at: At): number | undefined {
  const members = at.tree.kind === 'map' ? membersOf(at) : undefined
  const other = members?.find(({ name }) => name !== 'soft' && name !== 'hard')
  if (other) return problem(other, 'Only soft and hard are possible here.')
  const texts = (members ?? [at]).map((each) => matchOf(each, /^(?:-1|\d{1,15})$/, 'a whole number'))
  if (texts.includes(undefined)) return undefined
  if (texts.length === 0) return problem(at, 'Write a number, or "soft" and "hard".')
  return Math.max(...texts.map((text) => (text === '-1' ? Number.POSITIVE_INFINITY : Number(text))))
}

function readUlimits(draft: Draft, at: At): void {
  for (const member of membersOf(at)) {
    const limit = limitOf(member)
    if (limit === undefined) continue
    if (member.name === 'nofile') setOpenFiles(draft, member, limit)
    else if (member.name === 'nproc')
      note(member, 'The number of processes of the container is limited: by "pids_limit", or the default.')
    else problem(member, `The limit ${shown(member.name)} is not supported. Remove it; "nofile" is possible.`)
  }
}

function setOpenFiles(draft: Draft, at: At, wanted: number): void {
  const { min, max } = openFiles
  if (wanted > max) note(at, `A process has at most ${max} open files.`)
  else if (wanted < min) note(at, `A process may have ${min} open files, the lowest limit.`)
  setSetting(draft, 'MCM.NOFILE', String(Math.min(max, Math.max(min, wanted))), at)
}

/** As the specification has them. */
const healthDefaults = { intervalSeconds: 30, retries: 3, startSeconds: 0 }

/** Timeout of a start that the runtime accepts, in seconds. */
const maxHealthSeconds = 600

function readHealth(draft: Draft, at: At, scope: Parameters<typeof readKeys>[3]): void {
  const found = { ...healthDefaults, isSet: false, isOff: false }
  const seconds = (use: (value: number) => void) =>
    used('', (_: Draft, member: At) => {
      const value = secondsOf(member)
      if (value === undefined) return
      found.isSet = true
      use(value)
    })
  const keys: Keys = {
    test: used('', (_, member) => readTest(draft, member)),
    disable: used('', (_, member) => {
      found.isOff = flagOf(member) ?? false
    }),
    interval: seconds((value) => {
      found.intervalSeconds = value
    }),
    retries: used('', (_, member) => {
      found.retries = wholeOf(member, 0, 1000) ?? found.retries
      found.isSet = true
    }),
    start_period: seconds((value) => {
      found.startSeconds = value
    }),
    timeout: ignored('An attempt has 30 seconds.'),
    start_interval: ignored('The runtime decides how often it checks while a container starts.'),
  }
  readKeys(draft, at, keys, scope)
  if (isNull(at.tree)) return
  if (found.isOff) {
    draft.settings.delete('MCM.HEALTH_CMD')
    setSetting(draft, 'MCM.HEALTH_CMD', '[]', at)
  }
  if (!found.isSet) return
  const total = Math.ceil(found.startSeconds + found.intervalSeconds * Math.max(1, found.retries))
  if (total > maxHealthSeconds)
    note(
      at,
      `The container must be healthy ${maxHealthSeconds} seconds after its start, the longest time that is possible.`,
    )
  setSetting(draft, 'MCM.HEALTH_SEC', String(Math.min(maxHealthSeconds, Math.max(1, total))), at)
}

/** A text is run by a shell; a list begins with `CMD`, `CMD-SHELL` or `NONE`. */
function readTest(draft: Draft, at: At): void {
  if (isNull(at.tree)) return
  const isText = at.tree.kind === 'scalar'
  const words = isText ? ['CMD-SHELL', textOf(at) ?? ''] : listOfTexts(at)
  if (!words) return
  const [kind, ...rest] = words
  if (kind === 'NONE') setSetting(draft, 'MCM.HEALTH_CMD', '[]', at)
  else if (kind === 'CMD' && rest.length > 0) setSetting(draft, 'MCM.HEALTH_CMD', JSON.stringify(rest), at)
  else if (kind === 'CMD-SHELL' && rest.length === 1)
    setSetting(draft, 'MCM.HEALTH_CMD', JSON.stringify(['/bin/sh', '-c', rest[0]]), at)
  else problem(at, 'The list begins with CMD and a command, with CMD-SHELL and one text, or is `["NONE"]`.')
}

function listOfTexts(at: At): string[] | undefined {
  if (at.tree.kind !== 'list')
    return problem(at, 'Write a text, or a list that begins with `CMD`, `CMD-SHELL` or `NONE`.')
  const words = at.tree.items.map((tree) => textOf({ ...at, tree }))
  return words.includes(undefined) ? undefined : (words as string[])
}
