import jayson from 'jayson'
import { listen } from './listen.ts'
import { me } from './me.ts'

const server = new jayson.Server({
  getMe: (_params: unknown, done: (error: null, result: object) => void) => done(null, me()),
})

listen((request, response) => {
  let body = ''
  request.on('data', (chunk) => {
    body += chunk
  })
  request.on('end', () => {
    server.call(body, (error: object | undefined, answer: object | undefined) => {
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(error ?? answer))
    })
  })
})
