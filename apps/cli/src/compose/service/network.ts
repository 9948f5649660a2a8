/** Keys about the network of a service: ports, networks of the app, names. */
import { type At, itemsOf, type Member, membersOf, note, pairsOf, problem, textOf, textsOf } from '../at.ts'
import { shown } from '../report.ts'
import { type Draft, type DraftPort, type Keys, refused, type Scope, used } from './draft.ts'

const shortPort =
  /^(?:(\[[0-9a-fA-F:.]+\]|\d{1,3}(?:\.\d{1,3}){3}):)?(?:(\d{1,5}(?:-\d{1,5})?)?:)?(\d{1,5}(?:-\d{1,5})?)(?:\/(tcp|udp))?$/

/** Addresses of the device that need no choice: every one, or its loopback. */
const openAddresses = ['0.0.0.0', '[::]', '::']
const loopback = ['127.0.0.1', '[::1]', '::1']

/** Ports that one entry may stand for; a container has at most 16. */
const maxRange = 16

interface Range {
  readonly first: number
  readonly last: number
}

function rangeOf(at: At, text: string): Range | undefined {
  const [first, last = first] = text.split('-').map(Number)
  if (first! < 1 || last! > 65_535 || last! < first!)
    return problem(at, `${shown(text)} is not a port or a range of ports from 1 to 65535.`)
  if (last! - first! >= maxRange)
    return problem(at, `${shown(text)} has ${last! - first! + 1} ports. At most ${maxRange} are possible.`)
  return { first: first!, last: last! }
}

interface Entry {
  readonly address: string | undefined
  readonly published: string | undefined
  readonly target: string
  readonly protocol: 'tcp' | 'udp'
  readonly isHttp: boolean
}

function addPorts(draft: Draft, at: At, entry: Entry): void {
  const target = rangeOf(at, entry.target)
  const published = entry.published === undefined ? undefined : rangeOf(at, entry.published)
  if (!target || (entry.published !== undefined && !published)) return
  if (published && published.last - published.first !== target.last - target.first)
    return void problem(
      at,
      `The ranges have different lengths: ${entry.published} and ${entry.target}. Write one port for each.`,
    )
  if (!isPossible(at, entry.address)) return
  const isLocal = loopback.some((each) => each === entry.address)
  for (let index = 0; index <= target.last - target.first; index += 1)
    draft.ports.push({
      at,
      published: published && published.first + index,
      target: target.first + index,
      protocol: entry.protocol,
      isHttp: entry.isHttp,
      isLocal,
    })
}

function isPossible(at: At, address: string | undefined): boolean {
  if (address === undefined || [...openAddresses, ...loopback].includes(address)) return true
  problem(
    at,
    `Ports are not bound to single addresses such as ${shown(address)} yet. Remove the address; services.publish of the device decides who reaches the port.`,
  )
  return false
}

function readShortPort(draft: Draft, at: At): void {
  const text = textOf(at, 'a port such as "8080:80"')
  if (text === undefined) return
  const [whole, address, published, target, protocol] = shortPort.exec(text) ?? []
  if (whole === undefined)
    problem(
      at,
      `${shown(text)} is not a port. Write one such as "8080:80", "127.0.0.1:8080:80" or "5683:5683/udp".`,
    )
  else
    addPorts(draft, at, {
      address,
      published,
      target: target!,
      protocol: protocol === 'udp' ? 'udp' : 'tcp',
      isHttp: false,
    })
}

const portMembers = ['target', 'published', 'host_ip', 'protocol', 'app_protocol', 'mode', 'name']

function readLongPort(draft: Draft, at: At): void {
  const texts = new Map<string, string>()
  for (const member of membersOf(at, 'a port, or a mapping with "target"')) {
    if (member.name.startsWith('x-')) continue
    if (!portMembers.includes(member.name))
      problem(member, `Only ${portMembers.join(', ')} are possible here.`)
    else {
      const text = textOf(member)
      if (text !== undefined) texts.set(member.name, text)
    }
  }
  const target = texts.get('target')
  const published = texts.get('published')
  const protocol = texts.get('protocol') ?? 'tcp'
  const isPorts = (text: string | undefined) => text === undefined || /^\d{1,5}(?:-\d{1,5})?$/.test(text)
  if (target === undefined) problem(at, 'The port of the container is missing. Add "target".')
  else if (!/^\d{1,5}$/.test(target) || !isPorts(published))
    problem(
      at,
      `"target" is a port, and "published" is one, too: ${shown(target)}, ${shown(published ?? '')}.`,
    )
  else if (protocol !== 'tcp' && protocol !== 'udp')
    problem(at, `The protocol ${shown(protocol)} is not supported. Write tcp or udp.`)
  else
    addPorts(draft, at, {
      address: texts.get('host_ip'),
      published,
      target,
      protocol,
      isHttp: texts.get('app_protocol') === 'http',
    })
}

function readPorts(draft: Draft, at: At): void {
  for (const item of itemsOf(at)) {
    if (item.tree.kind === 'scalar') readShortPort(draft, item)
    else readLongPort(draft, item)
  }
}

function readExpose(draft: Draft, at: At): void {
  for (const item of textsOf(at)) {
    const [, ports, protocol] = /^(\d{1,5}(?:-\d{1,5})?)(?:\/(tcp|udp))?$/.exec(item.text) ?? []
    const range =
      ports === undefined
        ? problem(item, `${shown(item.text)} is not a port. Write one such as "80".`)
        : rangeOf(item, ports)
    if (range && protocol !== 'udp') draft.exposed.push(range.first)
  }
}

const aliasPattern = /^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/

/** Names of a service on one network. */
function aliasesOf(at: Member): string[] {
  return membersOf(at).flatMap((member) => {
    if (member.name === 'aliases')
      return textsOf(member).flatMap((item) => {
        if (aliasPattern.test(item.text)) return [item.text]
        problem(item, `${shown(item.text)} is not a host name. Write letters, digits and . _ -`)
        return []
      })
    if (['priority', 'gw_priority', 'interface_name'].includes(member.name))
      note(member, 'The order of networks changes nothing here.')
    else if (!member.name.startsWith('x-'))
      problem(
        member,
        'Addresses and options on networks are not supported: services find each other by name. Remove it.',
      )
    return []
  })
}

function readNetworks(draft: Draft, at: At, scope: Scope): void {
  const found =
    at.tree.kind === 'list'
      ? textsOf(at).map((item) => ({ at: item as At, network: item.text, aliases: [] as string[] }))
      : membersOf(at, 'a list of names, or a mapping').map((member) => ({
          at: member as At,
          network: member.name,
          aliases: aliasesOf(member),
        }))
  draft.networks = found.filter(({ at: item, network, aliases }) => {
    if (aliases.length > 16) problem(item, `It has ${aliases.length} aliases. At most 16 are possible.`)
    else if (scope.has.networks.has(network)) return true
    else problem(item, `The file has no network ${shown(network)}. Add it below "networks".`)
    return false
  })
}

function readNetworkMode(draft: Draft, at: At): void {
  const text = textOf(at)
  if (text === undefined) return
  if (text === 'bridge') note(at, 'Services of an app have a network of their own.')
  else if (text === 'none') draft.networkMode = { mode: 'none', at }
  else if (text === 'host') {
    draft.networkMode = { mode: 'host', at }
    note(
      at,
      'The configuration of the device must allow it with services.hostNetwork. Other services of the app do not find this one by its name.',
    )
  } else
    problem(
      at,
      `${shown(text)} is not supported: a service does not share the network of another container. Remove it, and use "networks".`,
    )
}

/** `name:address`, `name=address`, or a mapping. */
function readHosts(draft: Draft, at: At): void {
  const pairs =
    at.tree.kind === 'map'
      ? pairsOf(at).map((pair) => ({ item: pair as At, name: pair.name, address: pair.value ?? '' }))
      : textsOf(at).map((item) => {
          const [, name = '', address = ''] = /^([^:=]+)[:=](.*)$/.exec(item.text) ?? []
          return { item: item as At, name, address }
        })
  const hosts = pairs.flatMap(({ item, name, address }) => {
    if (address !== 'host-gateway') return [`${name}=${address.replace(/^\[(.*)\]$/, '$1')}`]
    problem(
      item,
      'Services do not reach the device by "host-gateway". Remove it; MCM.OUTBOUND lists what a service may reach.',
    )
    return []
  })
  if (hosts.length > 0) draft.settings.set('MCM.HOSTS', { value: hosts.join(', '), at })
}

export const networkKeys: Keys = {
  ports: used('the path at the gateway for the HTTP port; `MCM.PORTS` for others', readPorts),
  expose: used('the port that the gateway leads to, if no port is published', readExpose),
  networks: used('networks of the app, with further names', readNetworks),
  network_mode: used('`MCM.NETWORK` for `host`; no network for `none`; others are refused', readNetworkMode),
  extra_hosts: used('`MCM.HOSTS`', readHosts),
  hostname: used('`MCM.HOSTNAME`', (draft, at) => {
    const text = textOf(at)
    if (text === undefined) return
    if (aliasPattern.test(text)) draft.hostname = text
    else problem(at, `${shown(text)} is not a host name. Write letters, digits and . _ -`)
  }),
  mac_address: refused('Addresses of networks are chosen by the engine. Remove it.'),
}

export const portOf = ({ published, target }: DraftPort): number => published ?? target
