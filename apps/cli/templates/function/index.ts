import { handler } from './handler.ts'

mimikModule.exports = handler
