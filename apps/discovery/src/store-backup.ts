/** Backup and restore of the store: `selvedge admin store backup --service discovery` and `restore`. */
import { runStoreTool } from '@selvedge/service-kit/backup'
import { discoveryOptions } from './config.ts'
import { migrations } from './schema.ts'

void runStoreTool({ name: 'discovery', options: discoveryOptions, migrations, database: 'locations.db' })
