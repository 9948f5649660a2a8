/** `node:http` that parses the JSON and answers a constant: the least that any server here can cost. */
import { listen } from './listen.ts'

const answer = JSON.stringify({
  id: 1,
  jsonrpc: '2.0',
  result: { nodeId: 'a'.repeat(56), accountId: '', name: 'device', version: '0.1.0' },
})

listen((request, response) => {
  let body = ''
  request.on('data', (chunk) => {
    body += chunk
  })
  request.on('end', () => {
    JSON.parse(body)
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(answer)
  })
})
