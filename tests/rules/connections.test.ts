/** Connections are opened in few places, each of which is known: what leads out of the device is in the docs. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../harness/processes.ts'
import { nodesOf, parseSource, placeOf, readSources, type Source, type SyntaxNode } from './sources.ts'

/** What opens a connection or chooses how one is opened, by module. */
const openers: Readonly<Record<string, RegExp>> = {
  http: /^(request|get|Agent|default)$/,
  https: /^(request|get|Agent|default)$/,
  http2: /^(connect|default)$/,
  net: /^(connect|createConnection|default)$/,
  tls: /^(connect|default)$/,
  dgram: /^(createSocket|default)$/,
  // Ours, with the connections of a `Network`.
  'start-request': /^startRequest$/,
}

const nameIn = (module: unknown): string =>
  String(module)
    .replace(/^node:/, '')
    .replace(
      /^(@selvedge\/client\/node|@selvedge\/service-kit\/network|\.{1,2}\/.*start-request\.ts)$/,
      'start-request',
    )

/** Names that an import of a module brings and that open connections. */
function importedBy(node: SyntaxNode): string[] {
  const module = nameIn((node.source as { value?: unknown }).value)
  const opens = openers[module]
  if (!opens || node.importKind === 'type') return []
  const specifiers = node.specifiers as (SyntaxNode & { imported?: { name: string } })[]
  return specifiers
    .filter(({ importKind }) => importKind !== 'type')
    .map(({ imported }) => imported?.name ?? 'default')
    .filter((name) => opens.test(name))
    .map((name) => `${module}.${name}`)
}

/** What a call opens: the platform's `fetch`, or a module that is loaded at first use. */
function openedBy(node: SyntaxNode): string[] {
  const callee = node.callee as SyntaxNode & { name?: string; property?: { name?: string } }
  if (node.type === 'NewExpression')
    return /^(WebSocket|EventSource)$/.test(callee.name ?? '') ? [callee.name!] : []
  if (callee.name === 'fetch') return ['fetch']
  if (callee.property?.name === 'connectTo') return ['connectTo']
  const isLazy = callee.property?.name === 'getBuiltinModule'
  const module = nameIn((node.arguments as { value?: unknown }[])[0]?.value)
  return isLazy && Object.hasOwn(openers, module) ? [module] : []
}

/** @returns `path:line what`, for each place */
function findConnections(source: Source): string[] {
  return [...nodesOf(source.program)].flatMap(({ node }) => {
    const text = source.text.slice(node.start, node.end)
    const found =
      node.type === 'ImportDeclaration'
        ? importedBy(node)
        : node.type === 'CallExpression' || node.type === 'NewExpression'
          ? openedBy(node)
          : node.type === 'MemberExpression' && text === 'globalThis.fetch'
            ? [text]
            : []
    return found.map((what) => `${placeOf(source, node)} ${what}`)
  })
}

/** Files with connections to other machines, and the row of docs/operating.md, "What connects where", that has them. */
const outbound = new Map([
  ['apps/cli/src/context/bound-token.ts', 'Command line'],
  ['apps/cli/src/context/confirm.ts', 'Command line'],
  ['apps/cli/src/context/context.ts', 'Command line'],
  ['apps/cli/src/context/service-request.ts', 'Command line'],
  ['apps/cli/src/context/trace.ts', 'Command line'],
  ['apps/cli/src/production/why-no-answer.ts', 'Command line'],
  ['apps/identity/src/api/console/discovery-stream.ts', 'Console: locations'],
  ['apps/identity/src/api/console/places.ts', 'Console: locations'],
  ['apps/cli/src/archive/component/host/outgoing.ts', 'Functions and containers'],
  ['apps/runtime/src/location/link-local/link-socket.ts', 'Link-local discovery'],
  ['apps/runtime/src/services/engines/function/platform/host.ts', 'Functions and containers'],
  ['apps/runtime/src/services/engines/function/platform/http-request.ts', 'Functions and containers'],
  ['apps/runtime/src/services/engines/function/platform/outbound.ts', 'Functions and containers'],
  ['apps/runtime/src/services/engines/oci/outbound/resolver.ts', 'Functions and containers'],
  ['apps/runtime/src/services/gateway/egress.ts', 'Functions and containers'],
  ['apps/runtime/src/services/gateway/tunnels/dial.ts', 'Functions and containers'],
  ['apps/runtime/src/services/images/registry/http-get.ts', 'Image registries'],
  ['apps/simulator/src/wire.ts', 'Command line'],
  ['packages/client/src/backend/issuer-keys.ts', 'Client library'],
  ['packages/client/src/backend/verifier.ts', 'Client library'],
  ['packages/client/src/edge-session.ts', 'Client library'],
  ['packages/client/src/node/https.ts', 'Client library'],
  ['packages/client/src/node/network/agent.ts', 'HTTP proxy'],
  ['packages/client/src/node/network/authorities.ts', 'HTTP proxy'],
  ['packages/client/src/node/network/contexts.ts', 'HTTP proxy'],
  ['packages/client/src/node/network/open-tls.ts', 'HTTP proxy'],
  ['packages/client/src/node/network/open-tcp.ts', 'HTTP proxy'],
  ['packages/client/src/node/node-fetch.ts', 'Client library'],
  ['packages/client/src/node/start-request.ts', 'Client library'],
  ['packages/client/src/node/streams.ts', 'Client library'],
  ['packages/client/src/send.ts', 'Client library'],
  ['packages/geo/src/receivers/follow.ts', 'Receiver of positions'],
  ['packages/service-kit/src/http/get-json.ts', 'Keys of the identity service'],
  ['packages/service-kit/src/http/guarded-request.ts', 'Companies and foreign issuers'],
  ['packages/service-kit/src/network/outbound-fetch.ts', 'Keys of the identity service'],
  ['packages/service-kit/src/network/start-request.ts', 'HTTP proxy'],
  ['packages/service-kit/src/otel/collector.ts', 'Traces'],
  ['packages/service-kit/src/trace/trace.ts', 'Identity and discovery'],
])

/** Files with connections that stay on the device or in a page, or that only listen, and why. */
const inside = new Map([
  ['apps/cli/src/dev/only-one.ts', 'a socket of this user, to see whether another dev listens on it'],
  ['apps/console/src/parts/map/background/fetch-bounded.ts', 'the page of a browser'],
  ['apps/console/src/parts/map/outlines.ts', 'the page of a browser'],
  ['apps/console/src/session/request.ts', 'the page of a browser'],
  ['apps/runtime/src/api/http2/session.ts', 'listens'],
  ['apps/runtime/src/confirm-release.ts', 'the runtime itself'],
  ['apps/runtime/src/services/containers/ask-http2.ts', 'an instance on the device'],
  ['apps/runtime/src/services/containers/post-scheduled.ts', 'an instance on the device'],
  ['apps/runtime/src/services/containers/probe.ts', 'an instance on the device'],
  ['apps/runtime/src/services/engines/http2-client.ts', 'an instance on the device'],
  ['apps/runtime/src/services/engines/oci/await-port.ts', 'an instance on the device'],
  ['apps/runtime/src/services/engines/oci/device-port.ts', 'a port of the device'],
  ['apps/runtime/src/services/engines/oci/engine-api.ts', 'the socket of the engine'],
  ['apps/runtime/src/services/gateway/http2-sessions.ts', 'an instance on the device'],
  ['apps/runtime/src/services/gateway/upgrade.ts', 'an instance on the device'],
  ['apps/runtime/src/services/ports/tcp-port.ts', 'an instance on the device'],
  ['apps/runtime/src/services/ports/udp-port.ts', 'an instance on the device'],
  ['packages/client/src/function/node.ts', 'a pair of streams in the process'],
  [
    'packages/service-kit/src/http/listen.ts',
    'a socket of its own, to see whether another process listens on it',
  ],
  ['packages/client/src/node/network/certificate-faults.ts', 'judges a connection that is open'],
  ['packages/service-kit/src/http/server.ts', 'listens'],
])

/**
 * Files that lead out with connections of Node, and why. All others use `openTcp`, through the agents and `connectTo` of a `Network`: it
 * tries the addresses of a name side by side, and does not give up one after 250 ms (RFC 8305).
 */
const withConnectionsOfNode = new Map([
  ['apps/simulator/src/wire.ts', 'a program that measures services by their address'],
  ['apps/runtime/src/location/link-local/link-socket.ts', 'multicast'],
  ['apps/runtime/src/services/engines/oci/outbound/resolver.ts', 'only answers questions'],
  ['packages/client/src/node/https.ts', 'loads the module'],
  ['packages/client/src/node/network/agent.ts', 'makes the agents'],
  ['packages/client/src/node/network/authorities.ts', 'reads certificates'],
  ['packages/client/src/node/network/contexts.ts', 'reads certificates'],
  ['packages/client/src/node/network/open-tcp.ts', 'is what the others use'],
  ['packages/client/src/node/network/open-tls.ts', 'over a connection of openTcp'],
  ['packages/client/src/node/node-fetch.ts', 'an agent for Unix sockets'],
  ['packages/client/src/node/start-request.ts', 'always with an agent of a network'],
  ['packages/geo/src/receivers/follow.ts', 'a receiver on the local network'],
  ['packages/service-kit/src/network/start-request.ts', 'always with an agent of a network'],
])

const sources = readSources('packages', 'apps').filter(({ path }) => /^[^/]+\/[^/]+\/src\//.test(path))

it('no connection is opened in a place that is not known', () => {
  const unknown = sources.filter(({ path }) => !outbound.has(path) && !inside.has(path))
  expect(
    unknown.flatMap(findConnections),
    'add the file here, and to docs/operating.md if it leads out',
  ).toEqual([])
})

it('each known place still opens connections', () => {
  const opening = new Set(sources.filter((each) => findConnections(each).length > 0).map(({ path }) => path))
  expect([...outbound.keys(), ...inside.keys()].filter((path) => !opening.has(path))).toEqual([])
})

it('connections to other machines try all addresses side by side', () => {
  const opening = sources
    .filter(({ path }) => outbound.has(path))
    .flatMap((source) => findConnections(source).map((where) => ({ where, path: source.path })))
    .filter(({ where }) => !/ (start-request\.|connectTo$|(globalThis\.)?fetch$)/.test(where))
  const others = opening.filter(({ path }) => !withConnectionsOfNode.has(path)).map(({ where }) => where)
  expect(others, 'use startRequest or connectTo').toEqual([])
  const used = new Set(opening.map(({ path }) => path))
  expect([...withConnectionsOfNode.keys()].filter((path) => !used.has(path))).toEqual([])
})

it('the docs have a row for each connection that leads out', () => {
  const docs = readFileSync(join(root, 'docs/operating.md'), 'utf8')
  const section = docs.split('\n## ').find((each) => each.startsWith('What connects where\n')) ?? ''
  const rows = new Set(section.split('\n').map((line) => line.split('|')[1]?.trim()))
  expect([...outbound.values()].filter((row) => !rows.has(row))).toEqual([])
})

describe('the rule', () => {
  it.each([
    ["import { request as httpRequest } from 'node:http'", 'http.request'],
    ["import { type Socket, connect } from 'net'", 'net.connect'],
    ["import tls from 'node:tls'", 'tls.default'],
    ["import * as dgram from 'node:dgram'", 'dgram.default'],
    ["process.getBuiltinModule('node:https').request(url)", 'https'],
    ["import { startRequest } from '../network/start-request.ts'", 'start-request.startRequest'],
    ['await fetch(url, init)', 'fetch'],
    ['network.connectTo(target)', 'connectTo'],
    ['const own = globalThis.fetch', 'globalThis.fetch'],
    ['new WebSocket(url)', 'WebSocket'],
  ])('finds %s', (code, what) => {
    expect(findConnections(parseSource('example.ts', code))).toEqual([`example.ts:1 ${what}`])
  })

  it.each([
    "import type { Socket } from 'node:net'",
    "import { isIP, type Socket } from 'node:net'",
    "import { createServer } from 'node:http'",
    'await client.fetch(url)',
    "process.getBuiltinModule('node:zlib')",
  ])('accepts %s', (code) => {
    expect(findConnections(parseSource('example.ts', code))).toEqual([])
  })
})
