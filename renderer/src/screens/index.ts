import { lazyRouteComponent as lazy } from '@tanstack/react-router';

// A screen's code comes with the first visit to it. A route that wraps its screen awaits `preload` in its loader.
export const AlgorithmScreen = lazy(() => import('./algorithm/AlgorithmScreen'), 'AlgorithmScreen');
export const AlgorithmsScreen = lazy(() => import('./algorithms/AlgorithmsScreen'), 'AlgorithmsScreen');
export const ChatScreen = lazy(() => import('./chat/ChatScreen'), 'ChatScreen');
export const DataScreen = lazy(() => import('./data/DataScreen'), 'DataScreen');
export const DatasetScreen = lazy(() => import('./data/DatasetScreen'), 'DatasetScreen');
export const ExportScreen = lazy(() => import('./exporting/ExportScreen'), 'ExportScreen');
export const HomeScreen = lazy(() => import('./home/HomeScreen'), 'HomeScreen');
export const ModelScreen = lazy(() => import('./models/ModelScreen'), 'ModelScreen');
export const ModelsScreen = lazy(() => import('./models/ModelsScreen'), 'ModelsScreen');
export const NewRunScreen = lazy(() => import('./new-run/NewRunScreen'), 'NewRunScreen');
export const RewardScreen = lazy(() => import('./reward/RewardScreen'), 'RewardScreen');
export const RewardsScreen = lazy(() => import('./rewards/RewardsScreen'), 'RewardsScreen');
export const RunScreen = lazy(() => import('./run/RunScreen'), 'RunScreen');
export const RunsScreen = lazy(() => import('./runs/RunsScreen'), 'RunsScreen');
export const SettingsScreen = lazy(() => import('./settings/SettingsScreen'), 'SettingsScreen');

/** Fetches the code of every screen, one after the other: once a page is there, it needs the backend's data alone. */
export async function fetchScreens(): Promise<void> {
  const screens = [
    HomeScreen,
    RunScreen,
    RunsScreen,
    NewRunScreen,
    RewardScreen,
    RewardsScreen,
    ModelsScreen,
    ModelScreen,
    DataScreen,
    DatasetScreen,
    ChatScreen,
    ExportScreen,
    AlgorithmsScreen,
    AlgorithmScreen,
    SettingsScreen,
  ];
  for (const screen of screens) await screen.preload?.();
  await import('./run/ChartBoard').catch(() => undefined);
}
