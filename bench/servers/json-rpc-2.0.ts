import { JSONRPCServer } from 'json-rpc-2.0'
import { listen } from './listen.ts'
import { me } from './me.ts'

const server = new JSONRPCServer()
server.addMethod('getMe', me)

listen((request, response) => {
  let body = ''
  request.on('data', (chunk) => {
    body += chunk
  })
  request.on('end', async () => {
    const answer = await server.receive(JSON.parse(body))
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer))
  })
})
