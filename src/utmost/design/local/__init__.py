from utmost.design.local.testing import divergence_of, for_testing
