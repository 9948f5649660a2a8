import { getQuery, H3 } from 'h3'

const app = new H3()
app.get('/**', (event) => ({ framework: 'h3', path: getQuery(event).name }))
export default app
