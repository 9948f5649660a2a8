/** The developer console: pages of the identity service, for the people of an account. */
import './state/theme.ts'
import { render } from 'preact'
import { App } from './app.tsx'

render(<App />, document.getElementById('app')!)
