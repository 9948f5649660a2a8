/** Keys about the program of a service: its image, its command line, how it runs and stops. */

import { containerCapabilities } from '@selvedge/protocol'
import type { At } from '../at.ts'
import { commandOf, flagOf, itemsOf, matchOf, note, problem, secondsOf, textOf, textsOf } from '../at.ts'
import { shown } from '../report.ts'
import { isNull } from '../tree.ts'
import { type Draft, ignored, type Keys, refused, setSetting, used } from './draft.ts'

const imagePattern = /^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,299}$/

const capabilityOf = (text: string) => text.toUpperCase().replace(/^CAP_/, '')

/** What is in the profile already counts only beside `cap_drop: [ALL]`. */
function addCapabilities(draft: Draft, at: At): void {
  const names = textsOf(at).flatMap((item) => {
    const name = capabilityOf(item.text)
    if (containerCapabilities.some((each) => each === name)) return [name]
    problem(
      item,
      `${shown(item.text)} is not in the profile of containers. Remove it; allowed are ${containerCapabilities.join(', ')}.`,
    )
    return []
  })
  draft.addCapabilities = [...new Set(names)].sort()
}

function dropCapabilities(draft: Draft, at: At): void {
  const names = textsOf(at).flatMap((item) => {
    const name = capabilityOf(item.text)
    if (/^[A-Z_]{3,32}$/.test(name)) return [name]
    problem(item, `${shown(item.text)} is not the name of a capability. Write one such as NET_RAW, or ALL.`)
    return []
  })
  if (names.length > 64) problem(at, `It has ${names.length} items. At most 64 are possible.`)
  else draft.dropCapabilities = [...new Set(names)].sort()
}

const pulls: Readonly<Record<string, Draft['pull']>> = {
  missing: 'missing',
  if_not_present: 'missing',
  always: 'always',
  never: 'never',
}

function readRestart(draft: Draft, at: At): void {
  const text = matchOf(
    at,
    /^(?:no|always|unless-stopped|on-failure(?::[1-9]\d{0,2})?|false)$/,
    'no, always, unless-stopped or on-failure',
  )
  if (text === undefined) return
  const [name, count] = text.split(':')
  draft.restart = name === 'unless-stopped' ? 'always' : name === 'false' ? 'no' : (name as Draft['restart'])
  draft.maxRestarts = count === undefined ? null : Number(count)
}

/** Signals by name, with or without "SIG". A number differs between processors. */
function readStopSignal(draft: Draft, at: At): void {
  const text = textOf(at, 'the name of a signal')
  if (text !== undefined)
    setSetting(draft, 'MCM.STOP_SIGNAL', text.startsWith('SIG') ? text : `SIG${text}`, at)
}

export const programKeys: Keys = {
  image: used('the image of the container; the device fetches it, or has it already', (draft, at) => {
    const text = matchOf(at, imagePattern, 'the reference of an image, such as redis:7')
    if (text !== undefined) draft.image = { text, at }
  }),
  build: refused(
    'A device does not build images. Build it, push it to a registry or deploy its archive with "selvedge image deploy", and write its name as "image".',
  ),
  command: used('`MCM.ARGS`; `MCM.COMMAND` with `entrypoint`', (draft, at) => {
    const words = commandOf(at)
    if (words) draft.command = { words, at }
  }),
  entrypoint: used('`MCM.COMMAND`', (draft, at) => {
    const words = commandOf(at)
    if (words) draft.entrypoint = { words, at }
  }),
  user: used('`MCM.USER`', (draft, at) => {
    const text = textOf(at, 'a user such as "1000:1000"')
    if (text !== undefined) setSetting(draft, 'MCM.USER', text, at)
  }),
  working_dir: used('`MCM.WORKDIR`', (draft, at) => {
    const text = textOf(at, 'a path such as /srv/app')
    if (text !== undefined) setSetting(draft, 'MCM.WORKDIR', text, at)
  }),
  restart: used(
    'nothing for `always` and `unless-stopped`; with `no`, and with `on-failure` where nothing shows that it serves others, the service runs once while the app is deployed',
    readRestart,
  ),
  init: used('nothing: a small init is the first process of every container', (draft, at) => {
    draft.needsInit = flagOf(at) ?? false
  }),
  stop_signal: used('`MCM.STOP_SIGNAL`', readStopSignal),
  stop_grace_period: used('`MCM.STOP_SEC`', (draft, at) => {
    const seconds = secondsOf(at)
    if (seconds !== undefined) setSetting(draft, 'MCM.STOP_SEC', String(Math.max(1, Math.ceil(seconds))), at)
  }),
  read_only: used('`MCM.ROOT: "read-only"`', (draft, at) => {
    if (flagOf(at)) setSetting(draft, 'MCM.ROOT', 'read-only', at)
  }),
  cap_add: used(
    'capabilities of the profile that stay with `cap_drop: [ALL]`; others are refused',
    addCapabilities,
  ),
  cap_drop: used('`MCM.CAPABILITIES`: what the container keeps of the profile', dropCapabilities),
  privileged: used('nothing for false; true is refused', (_, at) => {
    if (flagOf(at))
      problem(
        at,
        'A container never gets all rights of the device. Remove it, and name what it needs in "devices" or "cap_add".',
      )
  }),
  security_opt: used('nothing for `no-new-privileges`, which is always on; others are refused', (_, at) => {
    for (const item of textsOf(at)) {
      if (/^no-new-privileges(?:[:=]true)?$/.test(item.text)) note(item, 'This is always on.')
      else
        problem(item, `${shown(item.text)} is not supported: the profile of containers is fixed. Remove it.`)
    }
  }),
  platform: used('nothing for that of the device; others are refused there', (draft, at) => {
    const text = matchOf(
      at,
      /^linux(?:\/[a-z0-9]{1,16}(?:\/[a-z0-9]{1,8})?)?$/,
      'a platform such as linux/arm64',
    )
    if (text === undefined || text === 'linux') return
    draft.platform = text
    note(at, `The device has to be ${text}.`)
  }),
  pull_policy: used('when the image is fetched: `missing`, `always` or `never`', (draft, at) => {
    const text = textOf(at, 'missing, always or never')
    if (text === undefined) return
    if (Object.hasOwn(pulls, text)) draft.pull = pulls[text]!
    else problem(at, `${shown(text)} is not supported. Write missing, always or never.`)
  }),
  container_name: used('a further name on the networks of the app', (draft, at) => {
    const text = matchOf(at, /^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/, 'letters, digits and . _ -')
    if (text === undefined) return
    if (text !== draft.name) draft.aliases.push(text)
    note(
      at,
      'The container is named after the app and the service; this is a further name on the networks of the app.',
    )
  }),
  scale: used('nothing for 1; more are refused', (_, at) => onlyOne(at)),
  extends: ignored('It was not resolved.'),
  profiles: used('services of profiles that are not chosen are left out', (_, at) => {
    for (const item of itemsOf(at)) textOf(item)
  }),
  tty: ignored('Output of a service is read as lines, with or without a terminal.'),
  stdin_open: ignored('A service has no standard input.'),
  attach: ignored('Output of every service is in its log.'),
  annotations: ignored('Annotations are for tools of other engines.'),
  oom_score_adj: ignored('A container beyond its memory limit is killed; others are not.'),
  oom_kill_disable: ignored('A container beyond its memory limit is always killed.'),
  develop: ignored('It is for "docker compose watch". "selvedge dev" watches functions.'),
  runtime: refused('The device decides which runtime its engine uses. Remove it.'),
  pull_refresh_after: refused('Images are not fetched again by age. Write "pull_policy: always".'),
  isolation: refused('It is for Windows. Remove it.'),
  credential_spec: refused('It is for Windows. Remove it.'),
  userns_mode: refused('Each container has user IDs of its own where the engine can. Remove it.'),
  cgroup: refused('A container has control groups of its own. Remove it.'),
  cgroup_parent: refused('A container has control groups of its own. Remove it.'),
  ipc: refused('A container shares no memory with others. Remove it, and set "shm_size" for its own.'),
  pid: refused('A container does not see processes of others. Remove it.'),
  uts: refused('A container has a host name of its own. Remove it.'),
  group_add: refused(
    'Further groups are not supported yet. Set "user" with the group that the program needs.',
  ),
  sysctls: used(
    'nothing for `net.ipv4.ip_unprivileged_port_start=0`; others are not supported yet',
    readSysctls,
  ),
  post_start: refused('Hooks are not supported yet. Use an entry script.'),
  pre_stop: refused('Hooks are not supported yet. Use "stop_signal".'),
  provider: refused('Providers run programs beside the containers. Use a service with an image.'),
  models: refused('Models are not supported. Use a service with an image.'),
  use_api_socket: refused('A container does not get the socket of the engine. Remove it.'),
}

function readSysctls(_: Draft, at: At): void {
  const items =
    at.tree.kind === 'map' ? [...at.tree.entries.keys()] : textsOf(at).map(({ text }) => text.split('=')[0]!)
  for (const name of items) {
    if (name === 'net.ipv4.ip_unprivileged_port_start') note(at, 'Programs may listen on every port already.')
    else problem(at, `${shown(name)} is not supported yet. Remove it.`)
  }
}

/** Copies of a service are not supported. */
export function onlyOne(at: At): void {
  if (isNull(at.tree)) return
  const text = matchOf(at, /^\d{1,6}$/, 'a whole number')
  if (text !== undefined && text !== '1')
    problem(at, `${text} copies are not supported yet. A service has one container: write 1.`)
}
