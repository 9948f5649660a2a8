/**
 * Calls a runtime with a JSON-RPC client of others, as their documentation shows it: `node call.mjs <client> <url> <token>`. Prints
 * what each call gave: the result, or code and message of the error.
 */
import { ethers } from 'ethers'
import jayson from 'jayson/promise/index.js'
import { JSONRPCClient } from 'json-rpc-2.0'
import { rpcClient } from 'typed-rpc'
import { listen } from 'vscode-ws-jsonrpc'
import WebSocket from 'ws'

const [, , name, url, token] = process.argv
const socketUrl = url.replace(/^http/, 'ws')

/** @returns {Promise<WebSocket>} that is open */
const connect = (path = '/jsonrpc/v1') =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(socketUrl + path)
    socket.on('open', () => resolve(socket))
    socket.on('error', reject)
  })

const post = (body) =>
  fetch(`${url}/jsonrpc/v1`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

/** Each gives a function that calls a method, and one that ends the client. */
const clients = {
  'json-rpc-2.0 over HTTP': async () => {
    const client = new JSONRPCClient(async (request) => client.receive(await (await post(request)).json()))
    return { call: (method, params) => client.request(method, params), end: () => undefined }
  },
  'json-rpc-2.0 over WebSocket': async () => {
    const socket = await connect()
    const client = new JSONRPCClient((request) => socket.send(JSON.stringify(request)))
    socket.on('message', (data) => client.receive(JSON.parse(data)))
    return { call: (method, params) => client.request(method, params), end: () => socket.close() }
  },
  'jayson over HTTP': async () => {
    const client = jayson.client.http(`${url}/jsonrpc/v1`)
    return { call: (method, params) => callJayson(client, method, params), end: () => undefined }
  },
  'jayson over WebSocket': async () => {
    const client = jayson.client.websocket({ url: `${socketUrl}/jsonrpc/v1` })
    await new Promise((resolve) => client.ws.on('open', resolve))
    return { call: (method, params) => callJayson(client, method, params), end: () => client.ws.close() }
  },
  'ethers JsonRpcProvider': async () => {
    const network = ethers.Network.from(1)
    const provider = new ethers.JsonRpcProvider(`${url}/jsonrpc/v1`, network, { staticNetwork: network })
    return { call: (method, params) => provider.send(method, params), end: () => provider.destroy() }
  },
  'ethers WebSocketProvider': async () => {
    const network = ethers.Network.from(1)
    const options = { staticNetwork: network }
    const provider = new ethers.WebSocketProvider(`${socketUrl}/jsonrpc/v1`, network, options)
    return { call: (method, params) => provider.send(method, params), end: () => provider.destroy() }
  },
  'typed-rpc over HTTP': async () => {
    const client = rpcClient({ url: `${url}/jsonrpc/v1` })
    return { call: (method, params) => client[method](...params), end: () => undefined }
  },
  'typed-rpc over WebSocket': async () => {
    const socket = await connect()
    const waiting = new Map()
    socket.on('message', (data) => {
      const answer = JSON.parse(data)
      waiting.get(answer.id)?.(answer)
    })
    const transport = (request) =>
      new Promise((resolve) => {
        waiting.set(request.id, resolve)
        socket.send(JSON.stringify(request))
      })
    const client = rpcClient({ transport })
    return { call: (method, params) => client[method](...params), end: () => socket.close() }
  },
  'vscode-jsonrpc over WebSocket': async () => {
    const webSocket = new WebSocket(`${socketUrl}/jsonrpc/v1`)
    const connection = await new Promise((resolve, reject) => {
      webSocket.on('error', reject)
      listen({ webSocket, onConnection: resolve, logger: console })
    })
    connection.listen()
    return {
      call: (method, params) => connection.sendRequest(method, ...params),
      end() {
        connection.dispose()
        webSocket.close()
      },
    }
  },
  ws: async () => {
    const socket = await connect('/ws/edge-service-api/v1')
    const call = async (method, params) => {
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }))
      const text = await new Promise((resolve) => socket.once('message', resolve))
      const { error, result } = JSON.parse(text)
      if (error) throw error
      return result
    }
    return { call, end: () => socket.close() }
  },
}

async function callJayson(client, method, params) {
  const { error, result } = await client.request(method, params)
  if (error) throw error
  return result
}

/** The error as each library hands it on; ethers has the one of the server inside its own. */
const errorOf = (cause) => {
  const error = cause.error ?? cause.info?.error ?? cause
  return { code: error.code, message: error.message }
}

const { call, end } = await clients[name]()
const outcomes = {}
const note = async (as, method, params) => {
  outcomes[as] = await call(method, params).catch(errorOf)
}
await note('getMe', 'getMe', [])
await note('getMe of old clients', 'getMe', [''])
await note('getEdgeIdToken', 'getEdgeIdToken', [])
await note('associateAccount', 'associateAccount', [token])
await note('getNodes', 'getNodes', [token, 'linkLocal'])
await note('a wrong token', 'getGps', ['nope'])
await note('an unknown method', 'eth_chainId', [])
outcomes['20 at once'] = (
  await Promise.all(Array.from({ length: name === 'ws' ? 1 : 20 }, () => call('getMe', [])))
).length
end()
process.stdout.write(JSON.stringify(outcomes))
