import { createRootRoute, createRoute, createRouter } from '@tanstack/react-router';
import { z } from 'zod';
import {
  AlgorithmScreen,
  AlgorithmsScreen,
  ChatScreen,
  DataScreen,
  DatasetScreen,
  ExportScreen,
  HomeScreen,
  ModelScreen,
  ModelsScreen,
  NewRunScreen,
  RewardScreen,
  RewardsScreen,
  RunScreen,
  RunsScreen,
  SettingsScreen,
} from '../screens';
import { Crash, NotFound, Pending } from './Fallbacks';
import { Shell } from './Shell';
import { setTheme, useThemeChoice } from './theme';

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound, errorComponent: Crash });
const text = z.string().optional().catch(undefined);
const whole = z.number().int().min(0).optional().catch(undefined);

const home = createRoute({ getParentRoute: () => root, path: '/', component: HomeScreen });
const models = createRoute({ getParentRoute: () => root, path: '/models', component: ModelsScreen });
const model = createRoute({
  getParentRoute: () => root,
  path: '/models/$id',
  loader: ModelScreen.preload,
  component: function ModelRoute() {
    return <ModelScreen id={model.useParams().id} />;
  },
});
const datasets = createRoute({ getParentRoute: () => root, path: '/data', component: DataScreen });
const dataset = createRoute({
  getParentRoute: () => root,
  path: '/data/$id',
  validateSearch: z.object({
    tab: z.enum(['rows', 'columns', 'model', 'statistics', 'problems']).default('rows').catch('rows'),
    page: whole,
    model: text,
    algorithm: text,
  }),
  loader: DatasetScreen.preload,
  component: function DatasetRoute() {
    return <DatasetScreen id={dataset.useParams().id} search={dataset.useSearch()} />;
  },
});
const rewards = createRoute({ getParentRoute: () => root, path: '/rewards', component: RewardsScreen });
const reward = createRoute({
  getParentRoute: () => root,
  path: '/rewards/$id',
  validateSearch: z.object({ model: text, dataset: text }),
  loader: RewardScreen.preload,
  component: function RewardRoute() {
    const { id } = reward.useParams();
    return <RewardScreen key={id} id={id} search={reward.useSearch()} />;
  },
});
const algorithms = createRoute({
  getParentRoute: () => root,
  path: '/algorithms',
  component: AlgorithmsScreen,
});
const algorithm = createRoute({
  getParentRoute: () => root,
  path: '/algorithms/$key',
  validateSearch: z.object({ from: text }),
  loader: AlgorithmScreen.preload,
  component: function AlgorithmRoute() {
    const { key } = algorithm.useParams();
    const { from } = algorithm.useSearch();
    return <AlgorithmScreen key={`${key} ${from ?? ''}`} id={key} from={from} />;
  },
});
const newRun = createRoute({
  getParentRoute: () => root,
  path: '/new',
  validateSearch: z.object({ model: text, dataset: text, reward: text, algorithm: text, from: text }),
  loader: NewRunScreen.preload,
  component: function NewRunRoute() {
    return <NewRunScreen search={newRun.useSearch()} />;
  },
});
const runs = createRoute({
  getParentRoute: () => root,
  path: '/runs',
  validateSearch: z.object({
    q: text,
    status: z.enum(['all', 'active', 'done', 'failed']).default('all').catch('all'),
  }),
  loader: RunsScreen.preload,
  component: function RunsRoute() {
    return <RunsScreen search={runs.useSearch()} />;
  },
});
const run = createRoute({
  getParentRoute: () => root,
  path: '/runs/$id',
  validateSearch: z.object({
    tab: z
      .enum(['overview', 'rollouts', 'time', 'log', 'checkpoints', 'config'])
      .default('overview')
      .catch('overview'),
    view: z.enum(['charts', 'table']).default('charts').catch('charts'),
    step: whole,
    group: whole,
    rollout: whole,
    q: text,
    sort: z.enum(['order', 'reward', 'length', 'advantage']).default('order').catch('order'),
    up: z.boolean().optional().catch(undefined),
    show: z.enum(['text', 'tokens']).default('text').catch('text'),
    page: whole,
  }),
  loader: RunScreen.preload,
  component: function RunRoute() {
    const { id } = run.useParams();
    return <RunScreen key={id} id={id} search={run.useSearch()} />;
  },
});
const chat = createRoute({
  getParentRoute: () => root,
  path: '/chat',
  validateSearch: z.object({ model: text, run: text, checkpoint: whole }),
  loader: ChatScreen.preload,
  component: function ChatRoute() {
    return <ChatScreen search={chat.useSearch()} />;
  },
});
const exporting = createRoute({
  getParentRoute: () => root,
  path: '/export',
  validateSearch: z.object({ run: text, checkpoint: whole }),
  loader: ExportScreen.preload,
  component: function ExportRoute() {
    return <ExportScreen search={exporting.useSearch()} />;
  },
});
const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings',
  loader: SettingsScreen.preload,
  component: function SettingsRoute() {
    return <SettingsScreen theme={useThemeChoice()} onTheme={setTheme} />;
  },
});

export const router = createRouter({
  routeTree: root.addChildren([
    home,
    models,
    model,
    datasets,
    dataset,
    rewards,
    reward,
    algorithms,
    algorithm,
    newRun,
    runs,
    run,
    chat,
    exporting,
    settings,
  ]),
  // a screen's code is fetched as soon as its link is pointed at; until it is there the screen before stays
  defaultPreload: 'intent',
  defaultStaleTime: Infinity,
  // inside the shell: the rest of the app goes on
  defaultErrorComponent: Crash,
  defaultPendingComponent: Pending,
  defaultPendingMs: 150,
  defaultPendingMinMs: 0,
  scrollRestoration: false,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
