import { AutoRouter } from 'itty-router'

const router = AutoRouter()
router.get('*', ({ query }) => ({ framework: 'itty-router', path: query.name }))
export default router
