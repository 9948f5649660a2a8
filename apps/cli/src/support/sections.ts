/**
 * What a support bundle contains. Each section names its members one by one: what is not named here, such as a location, an e-mail
 * address or the environment of a container, cannot get into it.
 */
import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { arch, cpus, freemem, platform, release, totalmem, uptime } from 'node:os'
import { join } from 'node:path'
import { version } from '@selvedge/protocol'
import { isSecretName } from '@selvedge/protocol/redaction'
import type { Context } from '../context/context.ts'
import { checkProduction } from '../production/production.ts'
import { readSettings } from '../production/settings.ts'

export type Sections = Readonly<Record<string, unknown>>

/** Files of the state folder that are listed. */
const maxFiles = 300

/** Collects all sections. One that cannot be collected has the reason in its place. */
export async function collectSections(context: Context): Promise<Sections> {
  const sections: Record<string, unknown> = {}
  for (const [name, collect] of Object.entries(collectors)) {
    try {
      sections[name] = await collect(context)
    } catch (cause) {
      sections[name] = { unavailable: (cause as Error).message }
    }
  }
  return sections
}

const collectors: Readonly<Record<string, (context: Context) => unknown>> = {
  machine: describeMachine,
  runtime: describeRuntime,
  engines: describeEngines,
  checks: async (context) =>
    (await checkProduction(context)).map(({ name, ok, detail, hints }) => ({ name, ok, detail, hints })),
  settings: describeSettings,
  files: ({ state }) => listFiles(state.path),
}

function describeMachine(): object {
  return {
    selvedge: version,
    node: process.version,
    system: `${platform()} ${arch()} ${release()}`,
    distribution: readDistribution(),
    processors: cpus().length,
    memoryBytes: totalmem(),
    freeMemoryBytes: freemem(),
    uptimeSeconds: Math.round(uptime()),
  }
}

function readDistribution(): string {
  try {
    return /^PRETTY_NAME="?([^"\n]*)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? ''
  } catch {
    return ''
  }
}

/** Without the name of the device, its account and its addresses. */
async function describeRuntime({ runtime }: Context): Promise<object> {
  const { nodeId, accountId, version: own, time, network, revocations, notices } = await runtime.getMe()
  const remote = ({ reachable, since, lastError = '' }: typeof network.identity) => ({
    reachable,
    since,
    lastError,
  })
  return {
    nodeId,
    hasAccount: accountId !== '',
    version: own,
    time: { state: time.state, now: time.now },
    network: { identity: remote(network.identity), discovery: remote(network.discovery) },
    revocations: { checkedAt: revocations.checkedAt, issuedAt: revocations.issuedAt },
    notices: notices.map(({ reason, errorId, time: at }) => ({ reason, errorId, time: at })),
  }
}

async function describeEngines({ runtime }: Context): Promise<object> {
  const engines = await runtime.getEngines()
  const one = ({ available, detail, isolation, hints }: typeof engines.oci) => ({
    available,
    detail,
    isolation,
    hints,
  })
  return { function: one(engines.function), oci: one(engines.oci) }
}

/** Options with words as values that say nothing of a person or a place. */
const openTexts = new Set(['log.level', 'role', 'enrolment', 'gps.positionalOrder', 'log.format'])

/** Which options are set. The values of texts and lists are not shown: they can be names, addresses and passwords. */
function describeSettings({ env }: Context): object {
  const { files, all } = readSettings(env)
  const shown = all().map(([name, value]) => [name, describeSetting(name, value)] as const)
  return {
    files,
    options: Object.fromEntries(shown),
    environment: Object.keys(env).filter((name) => name.startsWith('SELVEDGE_')),
  }
}

function describeSetting(name: string, value: unknown): unknown {
  if (typeof value === 'boolean') return value
  if (typeof value === 'number' && !isSecretName(name)) return value
  if (openTexts.has(name.replace(/^[a-z]+\./, ''))) return value
  return Array.isArray(value) ? `<${value.length} values>` : '<set>'
}

/** Names, sizes and modes in the state folder and the folders in it; nothing of what is in the files. */
function listFiles(state: string): object[] {
  const found: object[] = []
  const list = (folder: string, prefix: string, depth: number) => {
    for (const name of readdirSync(folder).toSorted()) {
      if (found.length >= maxFiles) return
      const { size, mode, mtime, uid } = lstatSync(join(folder, name))
      const isFolder = (mode & 0o170_000) === 0o040_000
      found.push({
        name: prefix + name,
        bytes: size,
        mode: `0${(mode & 0o7777).toString(8)}`,
        uid,
        changedAt: mtime.toISOString(),
      })
      if (isFolder && depth > 0) list(join(folder, name), `${prefix}${name}/`, depth - 1)
    }
  }
  list(state, '', 1)
  return found
}
