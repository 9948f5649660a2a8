/** What each daemon is asked while it is overloaded: the ordinary requests, and the vital one that must be answered meanwhile. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { discoveryPaths, healthPaths, identityPaths, rpcPath } from '@selvedge/protocol'
import { unlimited } from '../../../bench/rows/unlimited.ts'
import { createDevice, fixAt } from '../../harness/device.ts'
import { runtimeOf } from '../../harness/flow.ts'
import type { Program } from '../../harness/processes.ts'
import { callUrl, type Services, startServices } from '../../harness/services.ts'

export interface Workload {
  readonly name: string
  readonly program: (services: Services) => Program
  /** The texts of the ordinary requests, made for now: a signature is valid for a minute. */
  readonly requests: (services: Services) => Promise<() => readonly string[]>
  /** Sends the vital request. @returns whether it was answered */
  readonly vital: (services: Services) => Promise<boolean>
}

const textOf = (url: string, method: string, path: string, headers: Record<string, string>, body = '') => {
  const lines = Object.entries({ Host: new URL(url).host, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  const length = body === '' ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}${length}\r\n${body}`
}
const json = { 'Content-Type': 'application/json' }
const isFine = async (url: string, path: string) => (await callUrl(url + path, {})).status === 200
const getMeCall = '{"jsonrpc":"2.0","method":"getMe","params":[],"id":1}'
const getMe = async (services: Services) => {
  const { text } = await callUrl(services.url() + rpcPath, { method: 'POST', headers: json, body: getMeCall })
  return text.includes('"nodeId"')
}
const devices = 100

/** Devices with a location, and a request of each of them. */
async function fleetOf(
  services: Services,
  make: (
    url: string,
    authorize: Awaited<ReturnType<Awaited<ReturnType<typeof createDevice>>['authorize']>>,
    at: number,
  ) => string,
) {
  const { identity, discovery } = services.stack
  const urls = { identityUrl: identity.url, discoveryUrl: discovery.url }
  const fleet = await Promise.all(
    Array.from({ length: devices }, () => createDevice(urls, services.developer)),
  )
  for (const [at, device] of fleet.entries()) await device.report(fixAt(10 + at * 0.0001, 50))
  const signers = await Promise.all(fleet.map((device) => device.authorize()))
  return () => signers.map((authorize, at) => make(discovery.url, authorize, at))
}

export const workloads: readonly Workload[] = [
  {
    name: 'runtime, getMe',
    program: ({ stack }) => stack.runtime,
    requests: async (services) => {
      const text = textOf(services.url(), 'POST', rpcPath, json, getMeCall)
      return () => [text]
    },
    vital: (services) => isFine(services.url(), healthPaths.health),
  },
  {
    name: 'runtime, gateway',
    program: ({ stack }) => stack.runtime,
    async requests(services) {
      const hello = 'export default { fetch() { return new Response("hello") } }'
      const { basePath } = await services.deploy('hello', hello, { 'MCM.IDLE_SEC': '0' })
      const headers = { 'Content-Type': 'text/plain', Authorization: `Bearer ${services.token}` }
      return () => [textOf(services.url(), 'POST', basePath, headers, 'hello')]
    },
    vital: getMe,
  },
  {
    name: 'runtime, updateGps',
    program: ({ stack }) => stack.runtime,
    requests: async (services) => () =>
      Array.from({ length: 100 }, (_, at) => {
        const params = [services.token, `${10 + at / 1000}`, '50', '1', '1']
        const call = { jsonrpc: '2.0', method: 'updateGps', params, id: at }
        return textOf(services.url(), 'POST', rpcPath, json, JSON.stringify(call))
      }),
    vital: getMe,
  },
  {
    name: 'identity, token',
    program: ({ stack }) => stack.identity,
    async requests(services) {
      const { clientId, idToken } = services.developer
      const { id_token: edge } = await runtimeOf(services.stack).getEdgeIdToken()
      const form = new URLSearchParams({
        client_id: clientId,
        grant_type: 'id_token_signin',
        id_token: idToken,
        scope: 'openid edge:mcm',
        edge_id_token: edge,
      })
      const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
      return () => [textOf(services.stack.identity.url, 'POST', identityPaths.token, headers, String(form))]
    },
    vital: ({ stack }) => isFine(stack.identity.url, identityPaths.revocations),
  },
  {
    name: 'discovery, last fix',
    program: ({ stack }) => stack.discovery,
    async requests(services) {
      const { discovery, identity } = services.stack
      const urls = { identityUrl: identity.url, discoveryUrl: discovery.url }
      const device = await createDevice(urls, services.developer)
      await device.report(fixAt(10, 50))
      const headers = { Authorization: `Bearer ${device.accessToken}` }
      return () => [textOf(discovery.url, 'GET', discoveryPaths.fixOf(device.nodeId), headers)]
    },
    vital: ({ stack }) => isFine(stack.discovery.url, discoveryPaths.health),
  },
  {
    name: 'discovery, reports',
    program: ({ stack }) => stack.discovery,
    requests: (services) =>
      fleetOf(services, (url, authorize, at) => {
        const body = JSON.stringify([fixAt(10 + at * 0.0001, 50)])
        const path = discoveryPaths.fixes
        return textOf(url, 'POST', path, { ...json, Authorization: authorize('POST', path, body) }, body)
      }),
    vital: ({ stack }) => isFine(stack.discovery.url, discoveryPaths.health),
  },
]

export const start = (): Promise<Services> => startServices({ identity: unlimited })

/** Writes the requests of a round. @returns the path of the file */
export function writeRequests(folder: string, texts: readonly string[]): string {
  const path = join(folder, 'requests.json')
  writeFileSync(path, JSON.stringify(texts))
  return path
}
