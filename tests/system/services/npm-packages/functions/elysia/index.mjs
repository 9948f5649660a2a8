import { Elysia } from 'elysia'

const app = new Elysia().get('*', ({ query }) => ({ framework: 'elysia', path: query.name }))
export default { fetch: (request) => app.fetch(request) }
