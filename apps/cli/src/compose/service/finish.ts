/** A service of the plan, from what its keys set. */
import { type AppService, appPlanLimits, expectedOfSetting, portName } from '@selvedge/protocol'
import { type At, note, problem } from '../at.ts'
import { shown } from '../report.ts'
import { memberOf } from '../tree.ts'
import { labels } from './data.ts'
import { type Draft, type DraftPort, setSetting } from './draft.ts'
import { portOf } from './network.ts'

/** Where the gateway leads to. */
export interface GatewayPath {
  readonly path: string
  /** Of the container; undefined: the one that its image exposes. */
  readonly port: number | undefined
  readonly at: At
}

/** What the service of another draft has already: a port of the device is of one service. */
export type UsedPorts = Map<string, string>

/**
 * @param gateway undefined for a service that the gateway has no path for
 * @param isCutOff whether all its networks have no way out
 * @returns undefined after a problem without an image
 */
export function finishService(
  draft: Draft,
  gateway: GatewayPath | undefined,
  isCutOff: boolean,
  ports: UsedPorts,
): AppService | undefined {
  setCommand(draft)
  setGateway(draft, gateway)
  setPorts(draft, gateway, ports)
  setNetwork(draft, isCutOff)
  setFiles(draft)
  for (const [name, { value, at }] of draft.settings) {
    const expected = expectedOfSetting(name, value)
    if (expected !== undefined) problem(at, `${shown(value)} is not possible for ${name}. Write ${expected}.`)
  }
  checkSizes(draft)
  if (!draft.image) {
    const hasOther = memberOf(draft.at.tree, 'image') ?? memberOf(draft.at.tree, 'build')
    return hasOther ? undefined : problem(draft.at, 'The service has no image. Add "image".')
  }
  return planOf(draft, draft.image.text, gateway !== undefined)
}

function planOf(draft: Draft, image: string, isBehindGateway: boolean): AppService {
  return {
    name: draft.name,
    image,
    pull: draft.pull,
    platform: draft.platform,
    hostname: draft.hostname,
    isBehindGateway,
    env: envOf(draft),
    dependsOn: draft.dependsOn.map(({ service, condition, isRequired }) => ({
      service,
      condition,
      isRequired,
    })),
    restart: draft.restart ?? 'always',
    maxRestarts: draft.restart === 'on-failure' ? draft.maxRestarts : null,
    needsInit: draft.needsInit,
    addCapabilities: [...draft.addCapabilities],
    dropCapabilities: [...draft.dropCapabilities],
    networks: networksOf(draft),
    volumes: draft.volumes,
    secrets: draft.secrets,
    configs: draft.configs,
    ...(draft.configFolders.length > 0 && { configFolders: draft.configFolders.map(({ target }) => target) }),
  }
}

/** The network of every service without `networks`. */
export const defaultNetwork = 'default'

function networksOf({ networkMode, networks, aliases }: Draft): AppService['networks'] {
  if (networkMode) return []
  const own = networks ?? [{ network: defaultNetwork, aliases: [] }]
  return own.map(({ network, aliases: more }) => ({
    network,
    aliases: [...new Set([...aliases, ...more])].sort(),
  }))
}

function envOf({ settings, variables, fileVariables }: Draft): Record<string, string> {
  const entries = [...settings].map(([name, { value }]) => [name, value] as const)
  const own = [...new Map([...fileVariables, ...variables])]
  return Object.fromEntries([...entries.sort(([one], [two]) => (one < two ? -1 : 1)), ...own])
}

/** An entry point replaces that of the image with its arguments; a command only these. */
function setCommand(draft: Draft): void {
  const { entrypoint, command } = draft
  if (entrypoint) {
    const words = [...entrypoint.words, ...(command?.words ?? [])]
    if (words.length > 0) setSetting(draft, 'MCM.COMMAND', JSON.stringify(words), entrypoint.at)
    else
      problem(
        entrypoint.at,
        'Without an entry point the service has no program. Add "command", or remove "entrypoint".',
      )
  } else if (command) setSetting(draft, 'MCM.ARGS', JSON.stringify(command.words), command.at)
}

function setGateway(draft: Draft, gateway: GatewayPath | undefined): void {
  if (!gateway) {
    // Docker counts a container as started when its program runs.
    if (!draft.settings.has('MCM.READY')) setSetting(draft, 'MCM.READY', 'none', draft.at)
    return
  }
  if (!draft.settings.has('MCM.BASE_API_PATH'))
    setSetting(draft, 'MCM.BASE_API_PATH', gateway.path, gateway.at)
  if (gateway.port !== undefined && !draft.settings.has('MCM.PORT'))
    setSetting(draft, 'MCM.PORT', String(gateway.port), gateway.at)
}

/** Who reaches a port of the device, and the other way for one that may be HTTP. */
function reachOf({ isLocal, protocol, target }: DraftPort, gateway: GatewayPath | undefined): string {
  if (isLocal) return 'The port is on the network, too, if services.publish of the device lists it.'
  const reach = 'The port is open to programs of the device, and on the network if services.publish lists it.'
  if (gateway || protocol === 'udp') return reach
  return `${reach} For HTTP through the gateway, add the label ${labels.port}: "${target}".`
}

/** Every published port but the one of the gateway. */
function setPorts(draft: Draft, gateway: GatewayPath | undefined, ports: UsedPorts): void {
  const own = draft.ports.filter(({ target, protocol }) => protocol === 'udp' || target !== gateway?.port)
  const texts = new Set<string>()
  for (const [index, each] of own.entries()) {
    // One line for a range.
    if (own[index - 1]?.at !== each.at) note(each.at, reachOf(each, gateway))
    const name = portName({ port: portOf(each), protocol: each.protocol })
    const other = ports.get(name)
    if (other !== undefined && other !== draft.name)
      problem(each.at, `Port ${name} of the device is of the service ${shown(other)}. Publish another one.`)
    else if (other !== undefined && draft.networkMode?.mode !== 'host')
      problem(each.at, `Port ${name} of the device is there twice. Remove one of them.`)
    ports.set(name, draft.name)
    texts.add(portOf(each) === each.target ? name : `${portOf(each)}:${each.target}/${each.protocol}`)
  }
  if (texts.size === 0) return
  if (draft.networkMode)
    problem(
      draft.networkMode.at,
      'The service has ports and no network of its own. Remove "ports" or "network_mode".',
    )
  else setSetting(draft, 'MCM.PORTS', [...texts].join(', '), own[0]!.at)
}

function setNetwork(draft: Draft, isCutOff: boolean): void {
  const { networkMode, networks } = draft
  if (networkMode && networks) problem(networkMode.at, 'The service has "networks", too. Remove one of them.')
  if (networkMode?.mode === 'host') setSetting(draft, 'MCM.NETWORK', 'host', networkMode.at)
  else if ((networkMode || isCutOff) && !draft.settings.has('MCM.OUTBOUND'))
    setSetting(draft, 'MCM.OUTBOUND', 'none', networkMode?.at ?? draft.at)
}

function setFiles(draft: Draft): void {
  const { tmpfs, mounts } = draft
  if (tmpfs.length > 0) setSetting(draft, 'MCM.TMPFS', tmpfs.map(({ text }) => text).join(', '), tmpfs[0]!.at)
  if (mounts.length > 0)
    setSetting(draft, 'MCM.MOUNTS', mounts.map(({ text }) => text).join(', '), mounts[0]!.at)
}

function checkSizes(draft: Draft): void {
  const entries = Object.entries(envOf(draft))
  const characters = entries.reduce((sum, [name, value]) => sum + name.length + value.length, 0)
  if (entries.length > appPlanLimits.envMembers || characters > appPlanLimits.envCharacters)
    problem(
      draft.at,
      `Its variables and settings are ${entries.length} with ${characters} characters. At most ${appPlanLimits.envMembers} with ${appPlanLimits.envCharacters} are possible.`,
    )
  for (const name of ['volumes', 'secrets', 'configs', 'networks'] as const)
    if ((draft[name]?.length ?? 0) > (name === 'networks' ? appPlanLimits.networks : appPlanLimits.mounts))
      problem(
        draft.at,
        `It has ${draft[name]!.length} ${name}. At most ${name === 'networks' ? appPlanLimits.networks : appPlanLimits.mounts} are possible.`,
      )
  if (draft.aliases.length > appPlanLimits.aliases)
    problem(draft.at, `It has more than ${appPlanLimits.aliases} further names.`)
}
