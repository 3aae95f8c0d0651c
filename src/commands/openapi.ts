// The command `openapi`: prints the OpenAPI document of the service, without a database.
import { type MakeCommand, newCommand, print } from './run-command.js'

export type Describe = (format: 'json' | 'yaml') => Promise<string>

export const openapiCommand =
  (describe: Describe): MakeCommand =>
  ({ out }) =>
    newCommand(
      'openapi',
      'Print the OpenAPI document of the service',
      'openapi >openapi.yaml',
      'It needs no database. The settings of the environment count, such as MAX_PER_PAGE.',
    )
      .option('--json', 'print JSON instead of YAML')
      .action(async ({ json = false }) => print(out, ...(await describe(json ? 'json' : 'yaml')).trimEnd().split('\n')))
