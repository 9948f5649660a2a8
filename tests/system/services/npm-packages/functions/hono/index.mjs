import { Hono } from 'hono'

const app = new Hono()
app.get('*', (context) => context.json({ framework: 'hono', path: context.req.query('name') }))
export default app
