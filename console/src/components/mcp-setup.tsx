import { Tabs, Text } from "@mantine/core";
import { formatMcpSetup, type McpApp, type McpServer, mcpApps, mcpFiles } from "../format/format-mcp-setup.ts";
import { CodeBlock } from "./code-block.tsx";

/** Part of the id of an element, which cannot have spaces. */
const idOf = (app: McpApp): string => app.replaceAll(" ", "-");

/** A tab per app with the command or the settings that connect it. */
export function McpSetup({ server }: { server: McpServer }) {
  return (
    <Tabs defaultValue={idOf(mcpApps[0])} keepMounted={false}>
      <Tabs.List mb="sm">
        {mcpApps.map((app) => (
          <Tabs.Tab key={app} value={idOf(app)}>
            {app}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {mcpApps.map((app) => (
        <Tabs.Panel key={app} value={idOf(app)}>
          {mcpFiles[app] !== undefined && (
            <Text size="sm" mb="xs">
              In <span className="mono">{mcpFiles[app]}</span>:
            </Text>
          )}
          <CodeBlock text={formatMcpSetup(app, server)} label={`settings for ${app}`} isWrapped />
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
