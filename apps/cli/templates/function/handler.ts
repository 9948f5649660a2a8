// A handler: one function a request, as services of this API family are written.
import type { Handler } from './selvedge/index.ts'

export const handler: Handler = (context, request, response) => {
  const visits = Number(context.storage.getItem('visits') ?? 0) + 1
  context.storage.setItem('visits', String(visits))
  response.setHeader('Content-Type', 'application/json')
  response.end(JSON.stringify({ hello: 'from the edge', path: request.url, visits }))
}
